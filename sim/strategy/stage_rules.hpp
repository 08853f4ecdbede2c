#pragma once

#include "strategy/rules.hpp"

#include <optional>

namespace mirfak {

// What stages of their own shape (Strategy::stages) need together; each by itself has to obey all other rules. Nothing
// where stages are alike.
std::optional<Violation> stages_are_shaped(const RuleInput& in);

}  // namespace mirfak
