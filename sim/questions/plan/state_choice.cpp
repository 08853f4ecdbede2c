#include "plan/state_choice.hpp"

#include "program/data_parallel.hpp"

namespace mirfak {

void StateChoice::apply_to(Strategy& strategy) const {
  strategy.zero = zero;
  strategy.overlap_grad_reduce = overlap_grad_reduce;
  strategy.overlap_param_gather = overlap_param_gather;
  strategy.offload_optimizer = offload_optimizer;
}

StateChoices state_choices(const StrategySpace& space, const Framework& framework) {
  StateChoices out;
  for (const int zero : space.zero) {
    for (const bool reduce : space.overlap_grad_reduce) {
      if (zero >= 2 && reduce != space.overlap_grad_reduce.front()) continue;
      for (const bool gather : space.overlap_param_gather) {
        for (const double offload : space.offload_optimizer) {
          out[gathers_in_passes(framework, zero) ? 1 : 0].push_back({zero, reduce, gather, offload});
        }
      }
    }
  }
  return out;
}

}  // namespace mirfak
