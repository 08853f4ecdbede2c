#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

bool is_foundry_file(const ImportFile& file);

// Reads a command of Composer that trains by llm-foundry, or of llm-foundry itself ("composer train/train.py FILE
// KEY=VALUE", "llmfoundry train FILE"): the YAML that it names must be among `files`. `others`: settings that stay open
// for the reader of the script around the command.
ImportDraft import_foundry_command(const LaunchCommand& command, std::vector<Setting> others,
                                   std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
