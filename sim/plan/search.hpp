#pragma once

#include "plan/strategy_space.hpp"
#include "program/job.hpp"
#include "strategy/rule_expression.hpp"
#include "training/expected_finish.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// finish: the expected end of the whole training, failures and checkpoints included.
enum class SearchObjective { time, cost, energy, pareto, finish };
const std::vector<std::string>& search_objective_names();  // in the order of the enumeration

// What to look for, and where.
struct SearchSpec {
  StrategySpace space;
  std::vector<RuleExpression> rules;  // the user's, beside strategy/rules.hpp
  SearchObjective objective = SearchObjective::time;
  // Of the objective finish: when a training on these nodes is expected to end.
  std::function<ExpectedFinish(const Cluster&)> finish;
  int top = 10;  // layouts to find; the Pareto set is found whole

  // Which part of the job's cluster to use: all of it, or any number of nodes of each type up to those there are.
  bool any_count = false;
  std::vector<int> node_counts;  // ... these numbers; empty: powers of two and all there are
  bool mixed = true;             // one job may have several node types

  double deadline_s = 0;  // of an iteration; 0: none
  double budget_usd = 0;  // of an iteration; 0: none
  // Of all GPUs on average over an iteration; 0: none. Strategies that draw more run at lower clocks (clock_choices).
  double power_cap_w = 0;
  double headroom = 0.05;  // share of each memory to keep free, in [0, 1): what a job needs is a prediction
  double tolerance = 0;  // share by which what is not found may be better than the last that is; 0: the search is exact
  bool exhaustive = false;  // simulate whatever fits in memory: to check bounds by
};

// The clocks that need least energy (energy/frontier.hpp).
struct PlannedEnergy {
  double energy_j = 0;      // of an iteration as long as at the highest clocks
  double t_star_s = 0;      // the iteration that needs least
  double min_energy_j = 0;  // ... and what it needs
};

// Strategies of one layout have the same sizes of groups on the same nodes: tensor, context, pipeline, data, expert and
// expert-tensor parallelism. They are variants of the best of them.
constexpr std::size_t kMaxVariants = 3;  // to tell of each layout

// A strategy as the engine judges it.
struct FoundStrategy {
  Job job;  // on the nodes that it uses, in the order of ranks
  double iteration_time_s = 0;
  double cost_usd = 0;                   // 0: no price is known
  double energy_j = 0;                   // at the highest clocks
  std::optional<PlannedEnergy> planned;  // of a Pareto set, where the replicas of each stage are alike
  // The next best of its layout, best first, that are better than the last layout found, where as many were found as
  // asked for; of a Pareto set none. Without variants of their own.
  std::vector<FoundStrategy> variants;
  double finish_s = 0;  // of the whole training, expected; 0: it was not asked for
};

// How many strategies are left behind a step of the search, and the processor time that it took. A strategy is dropped
// by the first step that can tell, so one that could not be among the results may never have been asked whether it
// fits.
struct FunnelStep {
  std::string_view name;
  std::int64_t count = 0;
  double time_s = 0;
};

// A type of nodes on which nothing of the space runs.
struct LeftOut {
  std::string nodes;
  std::string reason;
};

struct SearchResult {
  std::vector<FoundStrategy> strategies;  // the best of each layout, best first; of a Pareto set, fastest first
  std::vector<FunnelStep> funnel;
  // Of the strategies that do not fit in memory, how much the one that is nearest lacks on its fullest stage beside the
  // headroom; 0: none.
  double min_shortage_bytes = 0;
  // The largest headroom, below the one asked for, with which one of them would fit. Nothing: none fits without any.
  std::optional<double> headroom_that_fits;
  std::vector<LeftOut> left_out;
  bool complete = true;  // else it was stopped: the strategies are the best of those that were simulated until then
  // Of a stopped search that is not for a Pareto set: no strategy is below in the objective (s, USD or J).
  std::optional<double> least_possible;
};

// Called now and then by the thread that asked for the search, with strategies dealt with and in all.
using SearchProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// Asked now and then, from the same thread: whether to stop and tell what was found until then. Empty: never.
using SearchStop = std::function<bool()>;

// Finds the best strategies to train the model of `job` on nodes of its cluster, exactly unless a tolerance is asked
// for: those that simulating all would find, whatever the number of threads. The job's own strategy does not matter. No
// strategies: none keeps the rules, fits in memory and is within the limits; the funnel says where they were lost.
// Error(infeasible) where of all nodes to use there are some on which nothing runs.
SearchResult search(const Job& job, const SearchSpec& spec, int threads = 0, const SearchProgress& progress = {},
                    const SearchStop& stop = {});

}  // namespace mirfak
