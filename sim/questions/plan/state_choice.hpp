#pragma once

#include "plan/strategy_space.hpp"

#include <array>
#include <vector>

namespace mirfak {

// Division of the state over replicas, and the parts of its communication that overlap with passes.
struct StateChoice {
  int zero = 0;
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  double offload_optimizer = 0;

  void apply_to(Strategy& strategy) const;
};

// State choices of a space: [0] for branches that do not gather parameters in every pass, [1] for those that do.
using StateChoices = std::array<std::vector<StateChoice>, 2>;

// Returns the state choices of a space. No two choices mean the same: sharded gradients are always reduced in parallel
// with the passes.
StateChoices state_choices(const StrategySpace& space, const Framework& framework);

}  // namespace mirfak
