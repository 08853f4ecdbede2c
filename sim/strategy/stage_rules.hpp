#pragma once

#include "strategy/rules.hpp"

#include <optional>
#include <vector>

namespace mirfak {

// Gives a strategy stages of their own shape, not none, and what follows: how many there are, and the sizes of the
// first of those with most replicas.
void set_stages(Strategy& strategy, std::vector<StageShape> stages);

// Whether stages of these shapes can stand beside each other: one of them has a multiple of the other's replicas, and
// one of the other's tensor ranks (sharding/cross_mesh.hpp).
bool divide(const StageShape& a, const StageShape& b);

// What stages of their own shape (Strategy::stages) need together; each by itself has to obey all other rules. Nothing
// where stages are alike.
std::optional<Violation> stages_are_shaped(const RuleInput& in);

}  // namespace mirfak
