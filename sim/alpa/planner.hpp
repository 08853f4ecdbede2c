#pragma once

#include "alpa/model_plan.hpp"
#include "plan/search_outcome.hpp"

#include <optional>
#include <vector>

namespace mirfak::alpa {

// What the integer programs of the stages of a plan count: as the strategy divides blocks, and as they would divide
// them if strategies could say anything, with no more memory. Seconds of an iteration, by the formula of the dynamic
// program (StagePartition), of what the integer programs price: kernels and collectives one behind the other.
struct FreedomGain {
  double expressible_s = 0;
  double any_s = 0;
  bool proven = true;  // else the solver's time ended, and `any_s` is the best found until then
  int programs = 0;
  double share() const { return expressible_s > 0 ? 1 - any_s / expressible_s : 0; }
};

// A plan that the engine executed.
struct ExecutedPlan {
  SimulatedStrategy simulated;
  ModelPlan plan;        // that it came from
  double planned_s = 0;  // what the engine says of that plan itself
  std::optional<FreedomGain> gain;
};

// What planning came to.
struct PlannerOutcome {
  std::vector<ExecutedPlan> plans;  // of which no two have the same groups; the best by the engine first
  PlanningEffort effort;
  std::int64_t planned = 0;   // strategies that the two levels made
  std::int64_t executed = 0;  // by the engine, the changes below included
  std::int64_t fitting = 0;   // of these, in memory
  std::int64_t changes = 0;   // of one thing of a good plan that were executed
  double plan_s = 0;          // of both levels
  double execute_s = 0;
  double gain_s = 0;
  double total_s = 0;
  double least_shortage_bytes = 0;  // of executed plans that do not fit; 0: none
  bool complete = true;             // else it was stopped
};

struct PlannerOptions {
  Levels levels = Levels::both;
  int threads = 0;
  int top = 1;  // plans to tell
};

// Alpa's plan of a job, for the engine: the two levels' partitions, executed; the best of them changed in one thing at
// a time (neighbours.hpp) as long as the engine says that it gains. With both levels it is no slower than with either
// alone, whose plans are among those compared.
PlannerOutcome plan(const Job& job, const SearchSpec& spec, const PlannerOptions& options,
                    const SearchProgress& progress = {}, const SearchStop& stop = {});

}  // namespace mirfak::alpa
