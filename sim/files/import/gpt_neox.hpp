#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

// GPT-NeoX: one or several files of settings; each file adds to the files before it. The model and its ranks have
// GPT-NeoX's own names (hw_profiles/launch/gpt-neox.yaml); batches, sharding and precision have DeepSpeed's names.
bool is_neox_file(const ImportFile& file);
// Returns the files that `deepy.py train.py -d configs small.yml local.yml` names, in their order.
std::vector<ImportFile> files_of_neox(const LaunchCommand& command, std::span<const ImportFile> files);
ImportDraft import_neox(std::span<const ImportFile> files, std::vector<Setting> others, const ImportContext& context);

}  // namespace mirfak
