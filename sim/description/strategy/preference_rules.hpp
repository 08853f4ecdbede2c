#pragma once

#include "strategy/rules.hpp"

#include <optional>

namespace mirfak {

// Checks that passes without gradients (training.preferences) are of a model that lies whole on one stage and reads
// microbatches whole, and that no answers are documents that ranks divide.
std::optional<Violation> forward_passes_are_whole(const RuleInput& in);
// Checks that such passes are of weights that no replicas divide, and that a frozen copy of the model, if its
// parameters are sharded, is gathered anew in each pass.
std::optional<Violation> copies_are_gathered(const RuleInput& in);

}  // namespace mirfak
