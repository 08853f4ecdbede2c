#pragma once

#include "base/document.hpp"
#include "import/import_draft.hpp"
#include "import/import_formats.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The value of --nodes: "hgx-h100:64".
struct NodeChoice {
  std::string type;
  std::int64_t count = 0;
  std::string text;  // the user's text
};
NodeChoice node_choice(std::string_view text);  // Error(input) for another form
std::int64_t gpus_of(const Catalog& catalog, const std::vector<NodeChoice>& nodes);

struct ImportRequest {
  std::string format;  // name of the format; "": by the file's contents
  std::vector<NodeChoice> nodes;
  std::vector<ImportFile> cluster = {};  // files on the cluster, in addition to those among the other files
};

// A scenario read from files of a training program.
struct ImportedJob {
  const ImportFormat* format = nullptr;
  std::string file;          // name of the first file
  ImportDraft draft;         // the draft, which holds the report
  Document scenario;         // sections in their order; places are in the user's files, so that errors point into them
  bool complete = false;     // the cluster is known, and mirfak describes all of the training
  std::string refusal = {};  // for a complete scenario, the reason why it cannot run
};

// Reads `files`, of which the first is the one that starts the training; files on the cluster (cluster_facts.hpp) are
// read apart. The nodes come from the request, else from the files on the cluster, else from the launch files if only
// one type of node has their GPUs. Otherwise `cluster` is left out, and an obstacle names the missing statement.
// Error(input) for files that cannot be read.
ImportedJob import_job(std::span<const ImportFile> files, const ImportRequest& request, ImportContext context);

// Reads a file. Error(input) for a file that cannot be read or holds more than 2 MiB.
ImportFile read_import_file(const std::string& path);

// True if one of a scenario's own keys stands at the beginning of a line: the file is no file of a training program.
bool is_scenario_file(const ImportFile& file);

// Returns the scenario with the user's own statements ("KEY=VALUE"), which remove obstacles of keys that no file
// states. Error(input) for the obstacles that remain: the first one, or all the keys that are missing; and as of
// Document::override_value().
Document stated_scenario(const ImportedJob& job, std::span<const std::string> overrides);

// Returns the scenario as YAML; each key has a comment with its origin.
std::string imported_yaml(const ImportedJob& job);

}  // namespace mirfak
