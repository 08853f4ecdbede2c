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

// A file that was given to import, with its unchanged text.
struct ImportFile {
  std::string name;  // as the user wrote it; becomes the file of every place
  std::string text;
};

// The data that readers may use in addition to the files.
struct ImportContext {
  const ScenarioSources& sources;                       // models, hardware and frameworks that a file may name
  std::map<std::string, std::string> environment = {};  // --env: variables that files leave to the environment
  std::vector<std::string> parameters = {};             // a script's parameters: the words after --
  std::optional<std::int64_t> gpus = {};                // total GPUs, if --nodes states them
  std::optional<int> launch = {};  // index of the training to read, from 1, in a script that starts several
};

// A kind of file that starts trainings.
struct ImportFormat {
  std::string_view name;      // "megatron-arguments": the value of --format
  std::string_view sentence;  // program and releases, and the look of such a file
  bool (*recognises)(const ImportFile& file);
  // Reads the settings of the first file, and of the files that it refers to, among `files` (a DeepSpeed JSON, an
  // extended YAML) or next to it on disk. The settings go into `model`, `training` and `strategy` of the draft's
  // scenario, and into `cluster` as far as they state it. Error(input) at its place for text that cannot be read at
  // all.
  ImportDraft (*read)(std::span<const ImportFile> files, const ImportContext& context);
};

// Returns all formats; each is defined in a file of its own name.
std::span<const ImportFormat> import_formats();
// Returns the format that recognises a file by its contents; nullptr if none does. Error(input) with the names of the
// formats if several do.
const ImportFormat* format_of(const ImportFile& file);

}  // namespace mirfak
