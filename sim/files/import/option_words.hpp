#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// Programs that are started by a command line and whose options this folder reads: torchtitan (--job.config_file FILE,
// or --module llama3 --config llama3_8b, and options of sections), Megatron-Bridge's run_recipe.py and scripts that
// take the options of Hugging Face's Trainer.
bool is_command_of_config(const LaunchCommand& command);
bool is_torchtitan_command(const LaunchCommand& command);
// Reads the options of such a command. Files that the options name are looked up among `files`; `others`: settings that
// stay open for the reader of the script around the command.
ImportDraft import_command_of_config(const LaunchCommand& command, std::vector<Setting> others,
                                     std::span<const ImportFile> files, const ImportContext& context);

// Returns options as settings with names as in Python: without dashes, with underscores. An option without a value is
// true, and a "no-" option of tyro is false.
std::vector<Setting> settings_of_python(std::span<const ArgumentWord> words);

// True if a text is one such command line, in one line or over several with or without backslashes; for torchtitan and
// Megatron-Bridge also if the text is the options alone.
bool is_config_command(const ImportFile& file);
// Returns this command line; nullopt: the text is none.
std::optional<LaunchCommand> config_command(const ImportFile& file);

}  // namespace mirfak
