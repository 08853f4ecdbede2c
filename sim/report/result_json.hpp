#pragma once

#include "simulation/iteration.hpp"

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace mirfak {

// The result of one iteration for programs (keys: README.md of this folder). What is not known is null; every other
// number is finite. `wall_time_s`: what the caller measured for the simulation itself.
// `notes` on the scenario stand behind those on its figures (notes_on).
nlohmann::ordered_json result_json(const Simulation& simulation, double wall_time_s,
                                   std::span<const std::string> notes = {});
// The same, where the simulation itself is not kept.
nlohmann::ordered_json result_json(const Job& job, const IterationResult& result, double wall_time_s);

}  // namespace mirfak
