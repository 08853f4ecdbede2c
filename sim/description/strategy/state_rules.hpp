#pragma once

#include "strategy/rules.hpp"

namespace mirfak {

// Returns true if a rule reads how the state is divided, offloaded or communicated: zero, offload_optimizer,
// overlap_grad_reduce or overlap_param_gather. The other rules hold for all states or for none.
bool reads_state(const Rule& rule);

// Returns true if a strategy whose stages are alike keeps all rules that read its state or, else, all others. Rules
// that read the state rely on the others.
bool keeps_rules(const RuleInput& input, bool of_state);

}  // namespace mirfak
