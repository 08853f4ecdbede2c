#pragma once

#include "plan/search.hpp"
#include "program/job.hpp"
#include "strategy/strategy.hpp"

#include <vector>

namespace mirfak::alpa {

// Properties that all stages share and that blocks do not depend on.
struct StateOfStages {
  int zero = 0;
  int recompute_layers = 0;  // number of first layers of each stage that are recomputed; 0: all
};

// Properties that all stages of a plan share and that blocks depend on: the sequences of a microbatch over all
// replicas, and in `common` sequence parallelism, recomputation, division of experts, and whether parameters are
// gathered in every pass (one stage of ZeRO stands for all stages of ZeRO that do, or that do not).
struct PlanningChoice {
  int sequences = 1;
  Strategy common;
  std::vector<StateOfStages> states;  // states of the space that such blocks can have
};

// Returns the choices of a space that Alpa plans with: 1F1B, one chunk per stage, no context ranks, and sequence
// parallelism if the space has it. Error(infeasible) if a space has no such strategies.
std::vector<PlanningChoice> planning_choices(const Job& job, const StrategySpace& space);

}  // namespace mirfak::alpa
