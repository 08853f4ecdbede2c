#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Programs whose options are read by files of this room, started by a command line: torchtitan (--job.config_file
// FILE, or --module llama3 --config llama3_8b, and options of sections), Megatron-Bridge's run_recipe.py and scripts
// that take those of Hugging Face's Trainer.
bool is_command_of_config(const LaunchCommand& command);
// What its options say. Files that they name are looked up among `files`; `others`: settings that stay open for whoever
// reads the script around the command.
ImportDraft import_command_of_config(const LaunchCommand& command, std::vector<Setting> others,
                                     std::span<const ImportFile> files, const ImportContext& context);

// Options as settings with names as in Python: without dashes, with underscores. One without a value is true, and one
// of tyro's "no-" options false.
std::vector<Setting> settings_of_python(std::span<const ArgumentWord> words);

// A text that is one such command line, over several lines with backslashes or without; of torchtitan and
// Megatron-Bridge also the options alone.
bool is_config_command(const ImportFile& file);
ImportDraft read_config_command(std::span<const ImportFile> files, const ImportContext& context);
inline constexpr ImportFormat kConfigCommand = {"launch-command",
                                                "a command line of torchtitan, of Megatron-Bridge's run_recipe.py, or "
                                                "of a script with the options of Hugging Face's "
                                                "Trainer",
                                                is_config_command, read_config_command};

}  // namespace mirfak
