#pragma once

#include "plan/search.hpp"

#include <optional>

namespace mirfak {

// At clocks of passes planned one by one, which have to end in the same time, or in any. The frontier is of stages
// whose replicas are alike: of others, nothing.
std::optional<PlannedEnergy> planned_energy(const FoundStrategy& found);

}  // namespace mirfak
