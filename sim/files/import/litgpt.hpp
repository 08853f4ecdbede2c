#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

// litgpt: YAML of a command (`litgpt pretrain`, `finetune_full`, `finetune_lora`), whose options stand on the command
// line or in the file. hw_profiles/launch/litgpt.yaml has commands and models.
bool is_litgpt_file(const ImportFile& file);

// Reads a command of litgpt; the file that --config names must be among `files`, and options after it count instead.
// A model_config.yaml or config.json among the files describes the model of a checkpoint. `others`: settings that stay
// open for the reader of the script around the command.
ImportDraft import_litgpt_command(const LaunchCommand& command, std::vector<Setting> others,
                                  std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
