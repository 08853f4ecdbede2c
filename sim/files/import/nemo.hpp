#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Reads a command of NeMo 1.x (megatron_gpt_pretraining.py) that changes a configuration by KEY=VALUE; the file that
// --config-name names must be among `files`. `others`: settings that stay open for the reader of the script around the
// command.
ImportDraft import_nemo_command(const LaunchCommand& command, std::vector<Setting> others,
                                std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
