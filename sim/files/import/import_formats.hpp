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
  std::optional<int> run = {};                          // index of the run to read, from 1, in a log of several
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

// Recognises no file: for formats that import_job() recognises by more than a file's text.
bool recognises_nothing(const ImportFile& file);

// The formats, each defined in the source of its reader. A new format is a name here and in import_formats().
extern const ImportFormat kMegatronTest;
extern const ImportFormat kMegatronYaml;
extern const ImportFormat kMegatronDeepSpeed;
extern const ImportFormat kMegatronArguments;
extern const ImportFormat kLaunchScript;
extern const ImportFormat kTorchtitanToml;
extern const ImportFormat kDeepSpeedJson;
extern const ImportFormat kAccelerateYaml;
extern const ImportFormat kTrainerSettings;
extern const ImportFormat kMegatronBridgeYaml;
extern const ImportFormat kNemoYaml;
extern const ImportFormat kPrimusYaml;
extern const ImportFormat kConfigCommand;
extern const ImportFormat kLlamaFactory;
extern const ImportFormat kAxolotl;
extern const ImportFormat kSwift;
extern const ImportFormat kMegatronSwift;
extern const ImportFormat kGptNeox;
extern const ImportFormat kTorchtune;
extern const ImportFormat kMaxText;
extern const ImportFormat kNanotron;
extern const ImportFormat kLitGpt;
extern const ImportFormat kLlmFoundry;
extern const ImportFormat kModelAlone;   // recognised by is_model_file(): program_facts.hpp
extern const ImportFormat kTrainingLog;  // recognised by the lines that logs.yaml describes: log_import.hpp

// Returns all formats.
std::span<const ImportFormat> import_formats();
// Returns the file of a path, by its name alone; nullptr: none.
const ImportFile* file_named(std::span<const ImportFile> files, const std::string& path);
// Does the same. Error(input) at `where` if there is none.
const ImportFile& required_file(std::span<const ImportFile> files, const std::string& path, const Location& where);

// Returns the format that recognises a file by its contents; nullptr if none does. Error(input) with the names of the
// formats if several do.
const ImportFormat* format_of(const ImportFile& file);

}  // namespace mirfak
