#pragma once

#include "strategy/rules.hpp"

#include <optional>

namespace mirfak {

// Checks that the experts of a rank can have room for a fixed number of rows (strategy.expert_rank_capacity), and keep
// rows in pages (strategy.expert_stash, strategy.expert_stash_host). Source: NVIDIA/Megatron-LM d98e8a64,
// docs/user-guide/features/paged_stash.md and megatron/core/transformer/transformer_config.py. nullopt if the strategy
// does not say so, or if they can.
std::optional<Violation> experts_have_room(const RuleInput& in);

// True if the kernels of experts join products and activation, so that the activation runs over filled rows alone:
// Transformer Engine's fused grouped MLP (NVIDIA/TransformerEngine d0067d0d, pytorch/ops/fused/grouped_mlp.py), which
// has formats in scaled blocks of 32 or 16 values.
bool fuses_experts(const TrainingSpec& training, const Framework& framework);

}  // namespace mirfak
