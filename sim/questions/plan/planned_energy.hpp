#pragma once

#include "plan/search.hpp"

#include <optional>

namespace mirfak {

// Returns the energy at clocks planned pass by pass, for an iteration that ends in the same time, and for one of any
// length. The frontier needs stages whose replicas are alike: otherwise returns nothing.
std::optional<PlannedEnergy> planned_energy(const FoundStrategy& found);

}  // namespace mirfak
