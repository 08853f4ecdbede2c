// Readers of the families with experts, and of Qwen 3, which shares its block with Qwen 3 MoE. Private to the room.
#pragma once

#include "model/hugging_face_config.hpp"

namespace mirfak {

ModelSpec read_mixtral(Config& config);
ModelSpec read_qwen3(Config& config);
ModelSpec read_qwen3_moe(Config& config);
ModelSpec read_deepseek_v3(Config& config);  // also Kimi K2
ModelSpec read_gpt_oss(Config& config);

}  // namespace mirfak
