#pragma once

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Returns the explanation of the figures of an iteration. `figures` has an entry for each key of result_json() (for
// activities with "activities." in front): `meaning`, a sentence; `formula`, with its numbers; `sources` of the
// figure's inputs; `see`, the beginnings of the titles of sections with more details. `sections` is a list of `title`
// and `text`: the parts of explanation().
nlohmann::ordered_json explanation_of(const Scenario& scenario, const Simulation& simulation);

}  // namespace mirfak
