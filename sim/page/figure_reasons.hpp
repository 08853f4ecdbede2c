#pragma once

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// What stands behind the figures of an iteration: `figures`, by the keys of result_json() (of activities with
// "activities." in front): `meaning`, a sentence; `formula`, with its numbers; `sources` of what it is made of; `see`,
// the beginnings of the titles of sections that say more. And `sections`, a list of `title` and `text`: the parts of
// explain_text().
nlohmann::ordered_json explanation_of(const Scenario& scenario, const Simulation& simulation);

// The sections of a text of which the titles are what is not indented.
nlohmann::ordered_json explanation_sections(const std::string& text);

}  // namespace mirfak
