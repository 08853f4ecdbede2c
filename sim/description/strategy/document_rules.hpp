#pragma once

#include "strategy/rules.hpp"

#include <optional>

namespace mirfak {

// Checks that documents can take as many context ranks as their lengths ask (strategy.context_tokens). nullopt if the
// strategy does not say so, or if they can.
std::optional<Violation> documents_are_spread(const RuleInput& in);

}  // namespace mirfak
