#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <string_view>
#include <vector>

namespace mirfak {

// A command of Megatron-Bridge's run_recipe.py: --recipe NAME and overrides of the recipe
// (model.context_parallel_size=2), some of which have short forms (-cp 2). Facts that only the recipe states become
// obstacles; the layout is read.
inline constexpr std::string_view kBridgeProgram = "run_recipe.py";
bool is_bridge_command(const LaunchCommand& command);
ImportDraft import_bridge_command(const LaunchCommand& command, std::vector<Setting> others,
                                  const ImportContext& context);

}  // namespace mirfak
