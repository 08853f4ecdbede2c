#pragma once

#include "alpa/block_problem.hpp"
#include "alpa/choice_problem.hpp"
#include "alpa/sharding_decisions.hpp"
#include "sharding/sharding_plan.hpp"

#include <limits>
#include <optional>
#include <vector>

namespace mirfak::alpa {

// Limits of a plan, and of the time to look for it.
struct PlanLimits {
  double in_flight = 1;                                     // number of microbatches whose activations are kept at once
  double memory = std::numeric_limits<double>::infinity();  // bytes of a device: state and activations
  double seconds = std::numeric_limits<double>::infinity();  // longest microbatch: no slower plan is wanted
  double solver_s = 60;  // a program that takes longer gives the best plan found until then (BlockPlan::proven)
};

// Reduction of a trained parameter's gradient, and where the parameter is stepped.
struct ParameterPlan {
  TensorId tensor = -1;
  Reduction reduction{};
  GradientReduction gradient;
};

// The shardings of a block on a logical mesh.
struct BlockPlan {
  ShardingPlan shardings;  // partition() lowers it to the collectives that `cost` counts
  std::vector<ParameterPlan> parameters;
  Cost cost;           // for a microbatch: seconds include its part of the iteration's reductions; bytes of one device
  bool proven = true;  // the solver proved the plan to be the best
  std::vector<int> choices;  // by decision
  int variables = 0;         // variables of the integer program
  int rows = 0;
};

// Returns the fastest plan of a block with its gradient operators (section 4 of arXiv 2201.12023); nullopt: none keeps
// the limits. Error(infeasible) if the solver's time ends before it found any plan.
std::optional<BlockPlan> plan_block(const OperatorGraph& graph, const BlockPrices& prices, const PlanOptions& options,
                                    const PlanLimits& limits);

// Returns the plan that follows from these choices.
BlockPlan block_plan(const OperatorGraph& graph, const ShardingDecisions& decisions, const ChoiceProblem& problem,
                     const std::vector<int>& choices);

}  // namespace mirfak::alpa
