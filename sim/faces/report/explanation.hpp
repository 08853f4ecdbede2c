#pragma once

#include "base/section.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

namespace mirfak {

// Returns the explanation of every cost: the scenario with its defaults, each kernel and collective of each block and
// pass with its formula and inputs, transfers, gradient reduction, optimizer, links, memory, the framework's habits.
// Constants are followed by the number of their source; the sources are the last section.
std::vector<Section> explanation(const Scenario& scenario, const Simulation& simulation);

}  // namespace mirfak
