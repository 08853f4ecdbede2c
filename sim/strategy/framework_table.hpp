#pragma once

#include "strategy/framework.hpp"

#include <vector>

namespace mirfak {

// Megatron-LM of 2021 and Megatron Core, from which others differ in part.
Framework megatron_lm_2021();
Framework megatron_core();

// The other frameworks by family, each in the file of that name; find_framework looks through them.
std::vector<Framework> fsdp_frameworks();       // PyTorch's FSDP and what is built like it
std::vector<Framework> deepspeed_frameworks();  // DeepSpeed and the frameworks with optimizers of its kind

}  // namespace mirfak
