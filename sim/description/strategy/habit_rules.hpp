#pragma once

#include "strategy/rules.hpp"

#include <optional>

namespace mirfak {

// Rules on what only some frameworks do. Each returns the key that asks for more than the framework's habits have, or
// that does not go together with other keys; nullopt if nothing is broken.
std::optional<Violation> halves_run_beside(const RuleInput& in);
std::optional<Violation> ranks_are_ordered(const RuleInput& in);
std::optional<Violation> offloaded_parameters(const RuleInput& in);
std::optional<Violation> loss_in_chunks(const RuleInput& in);
std::optional<Violation> adapters_decompose(const RuleInput& in);

}  // namespace mirfak
