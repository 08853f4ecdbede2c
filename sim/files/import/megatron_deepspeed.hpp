#pragma once

#include "import/import_formats.hpp"
#include "import/megatron_settings.hpp"

#include <vector>

namespace mirfak {

// Megatron-DeepSpeed's arguments with the DeepSpeed JSON that they name: after the arguments in the same text, as
// mirfak writes it, or among the files. A missing JSON is an obstacle.
bool is_megatron_deepspeed(const ImportFile& file);

// Reads Megatron-DeepSpeed's arguments from settings of a script or a command line; `files`: the files next to it.
ImportDraft import_megatron_deepspeed(std::vector<Setting> settings, const MegatronRun& run,
                                      std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
