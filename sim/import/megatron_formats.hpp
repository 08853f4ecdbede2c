#pragma once

#include "import/import_formats.hpp"

namespace mirfak {

// Formats that hold Megatron-LM's arguments.
extern const ImportFormat kMegatronArguments;  // words "--micro-batch-size 2", as many in a line as one likes
extern const ImportFormat kMegatronTest;       // YAML: MODEL_ARGS, ENV_VARS (functional tests, the MoE zoo)
extern const ImportFormat kMegatronYaml;       // what --yaml-cfg takes: language_model, model_parallel

// Settings that are variables of the environment, "$CUDA_LAUNCH_BLOCKING".
void judge_megatron_environment(ImportDraft& draft);

}  // namespace mirfak
