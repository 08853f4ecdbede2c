#pragma once

#include "import/import_formats.hpp"

#include <vector>

namespace mirfak {

// Formats that hold Megatron-LM's arguments.
extern const ImportFormat kMegatronArguments;  // words "--micro-batch-size 2", as many in a line as one likes
extern const ImportFormat kMegatronTest;       // YAML: MODEL_ARGS, ENV_VARS (functional tests, the MoE zoo)
extern const ImportFormat kMegatronYaml;       // what --yaml-cfg takes: language_model, model_parallel

// What a file of --yaml-cfg says; `others`: settings that are read beside it, or stay open.
ImportDraft import_megatron_yaml(const ImportFile& file, std::vector<Setting> others, const ImportContext& context);

// Settings that are variables of the environment, "$CUDA_LAUNCH_BLOCKING".
void judge_megatron_environment(ImportDraft& draft);

}  // namespace mirfak
