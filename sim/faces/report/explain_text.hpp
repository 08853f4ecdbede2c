#pragma once

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <string>

namespace mirfak {

// Returns the explanation of every cost: each kernel and collective of each block and pass with its formula and inputs,
// transfers, gradient reduction, optimizer, memory, the framework's habits, the scenario with its defaults. Constants
// are followed by the number of their source; the sources stand at the end. Lines end with '\n'.
std::string explain_text(const Scenario& scenario, const Simulation& simulation);

}  // namespace mirfak
