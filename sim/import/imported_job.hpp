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

// What --nodes says: "hgx-h100:64".
struct NodeChoice {
  std::string type;
  std::int64_t count = 0;
  std::string text;  // as it was said
};
NodeChoice node_choice(std::string_view text);  // Error(input) for another form

struct ImportRequest {
  std::string format;  // its name; "": by what the file holds
  std::vector<NodeChoice> nodes;
  std::vector<ImportFile> cluster = {};  // files that say what the cluster is made of, beside those among the others
};

// Files of a training program as a scenario.
struct ImportedJob {
  const ImportFormat* format = nullptr;
  std::string file;          // the first
  ImportDraft draft;         // with its report
  Document scenario;         // sections in their order; places are those of the files, so that errors point into them
  bool complete = false;     // the cluster is known, and mirfak describes all of it
  std::string refusal = {};  // why the scenario cannot run, where it is complete
};

// Reads `files`, the first of which is what the training is started with, those that say what a cluster is made of
// (cluster_facts.hpp) apart. Which nodes it runs on is said by the request, else by what is said of the cluster, else
// by the files where their GPUs are of one type of node only; else `cluster` is left out, and an obstacle says what is
// missing. Error(input) for what cannot be read.
ImportedJob import_job(std::span<const ImportFile> files, const ImportRequest& request, ImportContext context);

// Error(input) for a file that cannot be read or holds more than 2 MiB.
ImportFile read_import_file(const std::string& path);

// The scenario as YAML, each key with a comment that says where it comes from.
std::string imported_yaml(const ImportedJob& job);

}  // namespace mirfak
