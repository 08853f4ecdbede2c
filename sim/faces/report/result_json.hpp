#pragma once

#include "simulation/iteration.hpp"

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace mirfak {

// Returns the result of one iteration for programs (keys: README.md of this folder). Unknown values are null; every
// other number is finite. `wall_time_s`: seconds of the simulation itself, as measured by the caller.
// Notes on the figures (notes_on) come first, followed by `notes` on the scenario.
nlohmann::ordered_json result_json(const Simulation& simulation, double wall_time_s,
                                   std::span<const std::string> notes = {});
// Returns the result of one iteration if the simulation itself is not kept.
nlohmann::ordered_json result_json(const Job& job, const IterationResult& result, double wall_time_s);

// Adds to the fullest stage what its allocator reserves, if that is known (simulation/fullest_reserve.hpp).
// `result`: result_json() of the simulation's job and result.
void add_reserve(const Simulation& simulation, nlohmann::ordered_json& result);

}  // namespace mirfak
