#pragma once

#include "simulation/iteration.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Names of plans for tables and drawings: names of stages, and of classes of replicas if a job has several.

bool has_mixed_replicas(const Simulation& simulation);

// Returns the data-parallel replicas of a plan: "0-3, 8".
std::string replicas_text(const StagePlan& plan);

// Returns the stages of plans: "stage 2", "stages 0-3"; with mixed replicas "stages 0-3 of replicas 0-1, stage 2 of
// replicas 2-3". `plans`: indices, ascending.
std::string plans_text(const Simulation& simulation, std::span<const int> plans);

// Returns the microbatches: "8 microbatches of 2 per replica", "microbatches of 2: 12 on replicas 0-3, 4 on replicas
// 4-7".
std::string microbatches_text(const Simulation& simulation);

}  // namespace mirfak
