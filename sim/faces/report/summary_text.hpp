#pragma once

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <span>
#include <string>

namespace mirfak {

// Returns the report of one iteration for people: the job in two lines, then tables of the iteration, of the use of its
// time, and of the memory of the stages. Neighbouring stages with the same figures share a row; if there are more than
// 16 rows, some are left out, but never the fullest stage's row. Plain text, lines end with '\n'. A value that is not
// known (no price, no number of tokens asked) has no row.
// Notes on the figures (notes_on) come first, followed by `notes` on the scenario.
std::string summary_text(const Scenario& scenario, const Simulation& simulation,
                         std::span<const std::string> notes = {});

}  // namespace mirfak
