#pragma once

#include "plan/search.hpp"
#include "program/job.hpp"
#include "strategy/strategy.hpp"

#include <vector>

namespace mirfak::alpa {

// What stages have in common that blocks do not depend on.
struct StateOfStages {
  int zero = 0;
  int recompute_layers = 0;  // of each stage the first so many; 0: all
};

// What all stages of a plan have in common and blocks depend on: how many sequences a microbatch has over all replicas,
// and in `common` sequence parallelism, recomputation, whether experts are divided, and whether parameters are gathered
// in every pass (a stage of ZeRO that stands for all that do, or do not).
struct PlanningChoice {
  int sequences = 1;
  Strategy common;
  std::vector<StateOfStages> states;  // that such blocks have, of those that the space has
};

// Those of a space that Alpa plans with: 1F1B, one chunk a stage, no context ranks; sequence parallelism where the
// space has it. Error(infeasible) where a space has no such strategies.
std::vector<PlanningChoice> planning_choices(const Job& job, const StrategySpace& space);

}  // namespace mirfak::alpa
