#pragma once

#include "import/import_formats.hpp"

#include <vector>

namespace mirfak {

// Reads a file of --yaml-cfg; `others`: settings that are read with it, or stay open.
ImportDraft import_megatron_yaml(const ImportFile& file, std::vector<Setting> others, const ImportContext& context);

// Judges settings that are variables of the environment, "$CUDA_LAUNCH_BLOCKING".
void judge_megatron_environment(ImportDraft& draft);

}  // namespace mirfak
