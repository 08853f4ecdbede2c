#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

namespace mirfak {

// Reads settings of Megatron-Bridge, with sections and names of a ConfigContainer, from any source.
// `model`: a name of models/ if the settings do not state the model; `why`: how the name is known.
ImportDraft import_megatron_bridge(std::vector<Setting> settings, const Location& where, const ImportContext& context,
                                   std::string_view model = {}, std::string_view why = {});

// A command of Megatron-Bridge's run_recipe.py: --recipe NAME and overrides of the recipe
// (model.context_parallel_size=2), some of which have short forms (-cp 2). Facts that only the recipe states become
// obstacles; the layout is read.
inline constexpr std::string_view kBridgeProgram = "run_recipe.py";
bool is_bridge_command(const LaunchCommand& command);
ImportDraft import_bridge_command(const LaunchCommand& command, std::vector<Setting> others,
                                  const ImportContext& context);

}  // namespace mirfak
