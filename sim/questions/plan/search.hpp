#pragma once

#include "plan/strategy_space.hpp"
#include "program/job.hpp"
#include "program/memory_limit.hpp"
#include "simulation/power_figures.hpp"
#include "strategy/rule_fields.hpp"
#include "training/expected_finish.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// `finish` is the expected end of the whole training, failures and checkpoints included.
enum class SearchObjective { time, cost, energy, pareto, finish };
const std::vector<std::string>& search_objective_names();  // in the order of the enumeration

// Strategies that keep all rules and are left out because a program does not run them. An empty function refuses none.
// All functions may be called by several threads at once.
struct Refusals {
  // Asked for the sizes and blocks of a branch: of the strategy, only fields that are not open_in_branch() count.
  std::function<bool(const Strategy&)> of_branch;
  // Asked for a pipeline of a branch: only fields that are not open_in_pipeline() count.
  std::function<bool(const Strategy&)> of_pipeline;
  std::function<bool(const Strategy&)> of_strategy;
  // Asked once for each strategy whose turn comes: it may take as long as a simulation.
  std::function<bool(const Job&)> of_job;
};

// Returns true for fields of strategies (keys of `strategy`) that a branch of the search leaves open.
bool open_in_branch(std::string_view key);
// Returns true for those of these fields that a pipeline of a branch leaves open too: its state (StateChoice).
bool open_in_pipeline(std::string_view key);

// Goal of a search and the space that it looks through.
struct SearchSpec {
  StrategySpace space;
  std::vector<formula::Condition> rules;  // rules of the user, in addition to strategy/rules.hpp
  Refusals refusals;
  SearchObjective objective = SearchObjective::time;
  // Expected end of a training on these nodes; only for the objective `finish`.
  std::function<ExpectedFinish(const Cluster&)> finish;
  int top = 10;  // layouts to find; the Pareto set is found whole

  // Part of the job's cluster to use: all of it or, if true, any number of nodes of each type up to the existing
  // number.
  bool any_count = false;
  std::vector<int> node_counts;  // numbers of nodes to try if any_count; empty: powers of two and the existing number
  bool mixed = true;             // one job may have several node types

  double deadline_s = 0;  // longest iteration; 0: none
  double budget_usd = 0;  // dearest iteration; 0: none
  // Cap on the average power of all GPUs over an iteration; 0: none. Strategies that draw more run at lower clocks
  // (clock_choices).
  double power_cap_w = 0;
  // Limits of an iteration's power over time; 0: none. Strategies that exceed one are left out; clocks are not lowered
  // for them.
  PowerFigures power_limits;
  // The reserve that a strategy has to keep, as needs are predictions: a share of each memory that stays free, in [0,
  // 1), and the least probability of fitting on its devices, in [0, 1), as the job's ranges have it
  // (program/memory_limit.hpp); 0, or ranges that are not known: any.
  double headroom = 0.05;
  double fit_probability = 0;
  double tolerance = 0;     // share by which a missed strategy may be better than the last found; 0: exact search
  bool exhaustive = false;  // simulate all that fits in memory, to check bounds
};

// A limit of SearchSpec::power_limits, and the key of `search` that states it: that of the figure.
struct PowerLimitKey {
  const char* key = "";
  double PowerFigures::*of = nullptr;
};
inline constexpr PowerLimitKey kPowerLimitKeys[] = {{"power_peak_w", &PowerFigures::peak_w},
                                                    {"power_swing_w", &PowerFigures::swing_w},
                                                    {"power_max_ramp_w_per_s", &PowerFigures::max_ramp_w_per_s}};

// True if the spec limits the time, the cost or the power of strategies.
bool has_limits(const SearchSpec& spec);
// Returns the spec without these limits.
SearchSpec without_limits(SearchSpec spec);

// Returns what strategies of the job may use of memory.
MemoryLimit memory_limit(const Job& job, const SearchSpec& spec);

// Energy at the clocks that need least energy (energy/frontier.hpp).
struct PlannedEnergy {
  double energy_j = 0;      // iteration as long as at the highest clocks
  double t_star_s = 0;      // length of the iteration that needs least energy
  double min_energy_j = 0;  // energy of that iteration
};

// Number of variants to list for each layout. Strategies of one layout have the same sizes of groups on the same nodes:
// tensor, context, pipeline, data, expert and expert-tensor parallelism. All but the best strategy of a layout are its
// variants.
constexpr std::size_t kMaxVariants = 3;

// A strategy with the figures of the engine.
struct FoundStrategy {
  Job job;  // on the nodes that the strategy uses, in the order of ranks
  double iteration_time_s = 0;
  double cost_usd = 0;                   // 0: no price is known
  double energy_j = 0;                   // at the highest clocks
  std::optional<PlannedEnergy> planned;  // for a Pareto set, if the replicas of each stage are alike
  // Next best strategies of the same layout, best first, that are better than the last layout found if as many layouts
  // were found as asked for; none for a Pareto set. Variants have no variants.
  std::vector<FoundStrategy> variants;
  double finish_s = 0;  // expected end of the whole training; 0: it was not asked for
};

// Number of strategies left after a step of the search, and the processor time of the step. A strategy is dropped by
// the first step that can exclude it, so a strategy that could not be among the results may never have been checked for
// memory.
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
  // Bytes beyond those that it may use that are missing on the fullest stage of the nearest strategy among those that
  // do not fit in memory; 0: none.
  double min_shortage_bytes = 0;
  // Probability with which this strategy fits on its devices, without free pieces of an allocator's memory; nothing: it
  // lacks memory of its hosts, or no probability was asked for.
  std::optional<double> nearest_fit_probability;
  // Largest headroom, below the one asked for, at which one of these strategies would fit. Nothing: none fits even
  // without headroom.
  std::optional<double> headroom_that_fits;
  std::vector<LeftOut> left_out;
  bool complete = true;  // false: the search was stopped; the strategies are the best of those simulated so far
  // Value of the objective (s, USD or J) that no strategy is below, for a stopped search that is not for a Pareto set.
  std::optional<double> least_possible;
};

// Called now and then by the thread that started the search, with the numbers of strategies dealt with and of all.
using SearchProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// Called now and then from the same thread as SearchProgress; returns true to stop the search and get what was found so
// far. Empty: never stops.
using SearchStop = std::function<bool()>;

// Finds the best strategies to train the model of `job` on nodes of its cluster, exactly unless a tolerance is asked
// for: the result equals that of simulating all strategies, whatever the number of threads. The job's own strategy does
// not matter. If there are no strategies, none keeps the rules, fits in memory and is within the limits; the funnel
// shows where they were lost. Error(infeasible) if all nodes are to be used and on some of them nothing runs.
SearchResult search(const Job& job, const SearchSpec& spec, int threads = 0, const SearchProgress& progress = {},
                    const SearchStop& stop = {});

}  // namespace mirfak
