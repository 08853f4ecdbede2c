#pragma once

#include "strategy/rules.hpp"

#include <optional>

namespace mirfak {

// Checks that weights can be divided over replicas (strategy.weight_shards and strategy.expert_weight_shards, which are
// Megatron Core's generalized tensor parallelism: NVIDIA/Megatron-LM d98e8a64,
// docs/api-guide/core/generalized_tensor_parallel.md). nullopt if the strategy does not say so, or if they can.
std::optional<Violation> weights_are_divided(const RuleInput& in);

}  // namespace mirfak
