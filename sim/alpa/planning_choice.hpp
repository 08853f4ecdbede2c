#pragma once

#include "plan/search.hpp"
#include "program/job.hpp"
#include "strategy/strategy.hpp"

#include <vector>

namespace mirfak::alpa {

// What all stages of a plan have in common and blocks depend on: how many sequences a microbatch has over all replicas,
// and in `common` sequence parallelism, recomputation, whether experts are divided, and whether parameters are gathered
// in every pass (a stage of ZeRO that stands for all that do, or do not).
struct PlanningChoice {
  int sequences = 1;
  Strategy common;
  std::vector<int> zero;  // stages of ZeRO that such blocks have, of those that the space has
};

// Those of a space that Alpa plans with: 1F1B, one chunk a stage, no context ranks; all layers recomputed or none where
// the space leaves it open. Error(infeasible) where a space has no such strategies.
std::vector<PlanningChoice> planning_choices(const Job& job, const StrategySpace& space);

}  // namespace mirfak::alpa
