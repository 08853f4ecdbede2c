#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

// torchtune: YAML of a recipe, whose components are built by functions of Python (`_component_`), and the command that
// runs the recipe. hw_profiles/launch/torchtune.yaml has recipes and builders of models.
bool is_torchtune_file(const ImportFile& file);

// Reads `tune run`, or the script of a recipe: the file that --config names must be among `files`; key=value and ~key
// change it. `others`: settings that stay open for the reader of the script around the command.
ImportDraft import_torchtune_command(const LaunchCommand& command, std::vector<Setting> others,
                                     std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
