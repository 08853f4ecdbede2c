#pragma once

#include "plan/strategy_space.hpp"

#include <array>
#include <vector>

namespace mirfak {

// How the state is divided over replicas, and what of that hides behind passes.
struct StateChoice {
  int zero = 0;
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  double offload_optimizer = 0;

  void apply_to(Strategy& strategy) const;
};

// Those of a space: of branches that do not gather parameters in every pass, and of those that do.
using StateChoices = std::array<std::vector<StateChoice>, 2>;

// No two choices mean the same: gradients that are sharded are always reduced behind the passes.
StateChoices state_choices(const StrategySpace& space, const Framework& framework);

}  // namespace mirfak
