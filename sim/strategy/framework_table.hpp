#pragma once

#include "strategy/framework.hpp"

#include <vector>

namespace mirfak {

// Megatron-LM of 2021 and 2022 and Megatron Core, from which others differ in part.
Framework megatron_lm_2021();
Framework megatron_lm_2022();
Framework megatron_core();

// A rank's share of the time that an iteration waits for whichever host pauses. Fitted to iterations of equal work on
// 128 to 512 H100 (MPT-1b and 3b, llm-foundry; 0.147 to 0.156 ms, 0.5 ms left of 20 to 60). Not fitted: 0.19 ms
// (MPT-760m, 16 to 128 A100), 0.18 and 0.33 (InternEvo 7B, 16 to 1024 A100).
inline constexpr double kUnalignedStall = 0.15e-3;

inline constexpr const char* kEagerPython =
    "eager PyTorch, 5 to 10 us per operator and the Python of modules and hooks around it: recalled, to be confirmed; "
    "stalls of one host 0.15 ms per rank and iteration, fitted to 6 runs of MPT on 128 to 512 H100";

// The other frameworks by family, each in the file of that name; find_framework looks through them.
std::vector<Framework> fsdp_frameworks();       // PyTorch's FSDP and what is built like it
std::vector<Framework> deepspeed_frameworks();  // DeepSpeed and the frameworks with optimizers of its kind

std::vector<Framework> data_parallel_frameworks();  // plain data parallelism, and LiBai

}  // namespace mirfak
