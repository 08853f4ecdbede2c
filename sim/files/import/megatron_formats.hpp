#pragma once

#include "import/import_formats.hpp"

#include <vector>

namespace mirfak {

// Formats that hold Megatron-LM's arguments.
extern const ImportFormat kMegatronArguments;  // words "--micro-batch-size 2", any number of them in a line
extern const ImportFormat kMegatronTest;       // YAML: MODEL_ARGS, ENV_VARS (functional tests, the MoE zoo)
extern const ImportFormat kMegatronYaml;       // the file of --yaml-cfg: language_model, model_parallel

// Reads a file of --yaml-cfg; `others`: settings that are read with it, or stay open.
ImportDraft import_megatron_yaml(const ImportFile& file, std::vector<Setting> others, const ImportContext& context);

// Judges settings that are variables of the environment, "$CUDA_LAUNCH_BLOCKING".
void judge_megatron_environment(ImportDraft& draft);

}  // namespace mirfak
