#pragma once

#include "import/import_formats.hpp"
#include "import/program_facts.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Reads settings of Hugging Face's Trainer (TrainingArguments, and those of TRL's scripts) from JSON, YAML or words of
// a command line; names as in Python. `files`: the files next to them: Accelerate's YAML, a DeepSpeed JSON, the model's
// config.json. The first file may be the one that the settings were read from.
// `tool`: the facts (`program`, `defaults` and rules) of a tool around the Trainer, which come before the Trainer's.
ImportDraft import_trainer(std::vector<Setting> settings, std::span<const ImportFile> files,
                           const ImportContext& context, const ProgramFacts* tool = nullptr);

bool is_trainer_file(const ImportFile& file);
ImportDraft read_trainer_file(std::span<const ImportFile> files, const ImportContext& context);

// Accelerate's configuration; Trainer's settings, a DeepSpeed JSON and the model's config.json may be given with it.
bool is_accelerate_yaml(const ImportFile& file);
ImportDraft read_accelerate_yaml(std::span<const ImportFile> files, const ImportContext& context);

inline constexpr ImportFormat kTrainerSettings = {
    "trainer", "settings of Hugging Face's Trainer and TRL in JSON or YAML: per_device_train_batch_size, ...",
    is_trainer_file, read_trainer_file};
inline constexpr ImportFormat kAccelerateYaml = {
    "accelerate-yaml", "Hugging Face Accelerate's configuration: distributed_type, num_processes, ...",
    is_accelerate_yaml, read_accelerate_yaml};

}  // namespace mirfak
