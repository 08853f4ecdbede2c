#pragma once

#include "strategy/rules.hpp"

#include <optional>
#include <vector>

namespace mirfak {

// Gives a strategy stages of their own shape (`stages` is not empty), and sets the fields that follow from them: the
// number of stages, and the sizes of the first stage among those with the most replicas.
void set_stages(Strategy& strategy, std::vector<StageShape> stages);

// True if stages of these shapes can be neighbors: the replicas of one are a multiple of the replicas of the other, and
// so are the tensor ranks (sharding/cross_mesh.hpp).
bool divide(const StageShape& a, const StageShape& b);

// Checks the conditions that stages of their own shape (Strategy::stages) must meet together; in addition, each stage
// must obey all other rules. Returns nullopt if all stages have one shape.
std::optional<Violation> stages_are_shaped(const RuleInput& in);

}  // namespace mirfak
