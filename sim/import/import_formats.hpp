#pragma once

#include "import/import_draft.hpp"
#include "scenario/scenario_sources.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A file that was given to import, as it stands.
struct ImportFile {
  std::string name;  // as the user wrote it; becomes the file of every place
  std::string text;
};

// What readers may look at beside the files.
struct ImportContext {
  const ScenarioSources& sources;                       // models, hardware, frameworks that a file may name
  std::map<std::string, std::string> environment = {};  // of --env: variables that files leave to the environment
  std::vector<std::string> parameters = {};             // of a script: its words behind --
  std::optional<std::int64_t> gpus = {};                // in all, where --nodes says so
  std::optional<int> launch = {};                       // of a script that starts several trainings: which, from 1
};

// A kind of file that people start trainings with.
struct ImportFormat {
  std::string_view name;      // "megatron-arguments": what --format takes
  std::string_view sentence;  // which program and releases, and what such a file looks like
  bool (*recognises)(const ImportFile& file);
  // The settings of the first file, and of what it refers to among `files` (a DeepSpeed JSON, an extended YAML) or
  // beside it on disk, understood into `model`, `training` and `strategy` of the draft's scenario, and as much of
  // `cluster` as it says. Error(input) with its place for what cannot be read at all.
  ImportDraft (*read)(std::span<const ImportFile> files, const ImportContext& context);
};

// All formats; each stands in a file of its own name.
std::span<const ImportFormat> import_formats();
// The one that recognises a file, by what it holds; nullptr: none does. Error(input) where several do, with their
// names.
const ImportFormat* format_of(const ImportFile& file);

}  // namespace mirfak
