#pragma once

#include "strategy/rules.hpp"

#include <optional>

namespace mirfak {

// Rules on abilities that only some frameworks have. Each returns the key that asks for an ability that the framework
// lacks, or that does not go together with other keys; nullopt if the rule is kept.
std::optional<Violation> halves_run_beside(const RuleInput& in);
std::optional<Violation> ranks_are_ordered(const RuleInput& in);
std::optional<Violation> offloaded_optimizer(const RuleInput& in);
std::optional<Violation> offloaded_parameters(const RuleInput& in);
std::optional<Violation> offloaded_modules(const RuleInput& in);
std::optional<Violation> state_on_disks(const RuleInput& in);
std::optional<Violation> loss_in_chunks(const RuleInput& in);
std::optional<Violation> adapters_decompose(const RuleInput& in);
std::optional<Violation> gradients_are_projected(const RuleInput& in);

}  // namespace mirfak
