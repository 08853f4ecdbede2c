#pragma once

#include "engine/iteration.hpp"
#include "scenario/scenario.hpp"

#include <string>

namespace mirfak {

// What a person reads about one iteration: the job in two lines, then tables of the iteration, of where its time goes
// and of the memory of each stage (stages that agree to the byte share a row). Plain text, lines end with '\n', at
// most 120 columns. A value that is not known (no price, no number of tokens asked) has no row.
std::string summary_text(const Scenario& scenario, const Simulation& simulation);

}  // namespace mirfak
