#pragma once

#include "import/import_formats.hpp"

namespace mirfak {

// Formats that hold Megatron-LM's arguments.
extern const ImportFormat kMegatronArguments;  // words "--micro-batch-size 2", as many in a line as one likes
extern const ImportFormat kMegatronTest;       // YAML: MODEL_ARGS, ENV_VARS (functional tests, the MoE zoo)
extern const ImportFormat kMegatronYaml;       // what --yaml-cfg takes: language_model, model_parallel

}  // namespace mirfak
