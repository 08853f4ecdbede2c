#pragma once

#include "strategy/training.hpp"

#include "base/field_table.hpp"

namespace mirfak {

// The keys of `training.low_rank_gradients`: optimizer states in a subspace of the gradients.
const FieldTable<LowRankGradients>& low_rank_fields();

}  // namespace mirfak
