#pragma once

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <span>
#include <string>

namespace mirfak {

// What a person reads about one iteration: the job in two lines, then tables of the iteration, of where its time goes
// and of the memory of the stages (neighbours with the same figures share a row; of more than 16 rows some are left
// out, never the fullest stage's). Plain text, lines end with '\n'. A value that is not known (no price, no number of
// tokens asked) has no row.
// `notes` on the scenario stand behind those on its figures (notes_on).
std::string summary_text(const Scenario& scenario, const Simulation& simulation,
                         std::span<const std::string> notes = {});

}  // namespace mirfak
