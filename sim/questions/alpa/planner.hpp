#pragma once

#include "alpa/model_plan.hpp"
#include "plan/search_outcome.hpp"

#include <optional>
#include <vector>

namespace mirfak::alpa {

// Gain that more freedom than a strategy has would bring, as the integer programs of a plan's stages count it: blocks
// divided as the strategy divides them, and in any way with no more memory. Values are seconds of an iteration by the
// formula of the dynamic program (StagePartition), from the times that the integer programs price: kernels and
// collectives one after the other.
struct FreedomGain {
  double expressible_s = 0;
  double any_s = 0;
  bool proven = true;  // false: the solver's time ended, and `any_s` is the best found
  int programs = 0;
  double share() const { return expressible_s > 0 ? 1 - any_s / expressible_s : 0; }
};

// A plan that the engine executed.
struct ExecutedPlan {
  SimulatedStrategy simulated;
  ModelPlan plan;        // plan from which the strategy came
  double planned_s = 0;  // seconds of that plan itself, by the engine
  std::optional<FreedomGain> gain;
};

// Result of planning.
struct PlannerOutcome {
  std::vector<ExecutedPlan> plans;  // no two have the same groups; the best by the engine first
  PlanningEffort effort;
  std::int64_t planned = 0;   // strategies that the two levels produced
  std::int64_t executed = 0;  // strategies that the engine executed, with `changes`
  std::int64_t fitting = 0;   // executed strategies that fit in memory
  std::int64_t changes = 0;   // executed changes of one property of a good plan
  double plan_s = 0;          // time of both levels
  double execute_s = 0;
  double total_s = 0;
  double least_shortage_bytes = 0;  // least shortage of executed plans that do not fit; 0: none
  bool complete = true;             // false: planning was stopped
};

struct PlannerOptions {
  Levels levels = Levels::both;
  int threads = 0;
  int top = 1;  // number of plans to return
};

// Returns Alpa's plans of a job: the partitions of the two levels are executed by the engine, and the best of them are
// changed in one property at a time (neighbours.hpp) as long as the engine finds a gain. With both levels, a plan is no
// slower than with either level alone, because the plans of each level alone are among those compared.
PlannerOutcome plan(const Job& job, const SearchSpec& spec, const PlannerOptions& options,
                    const SearchProgress& progress = {}, const SearchStop& stop = {});

}  // namespace mirfak::alpa
