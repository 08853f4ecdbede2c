#pragma once

#include "plan/strategy_space.hpp"
#include "program/job.hpp"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace mirfak {

enum class SearchObjective { time, cost, energy, pareto };

struct SearchSpec {
  StrategySpace space;
  SearchObjective objective = SearchObjective::time;
  int top = 10;              // strategies to find; the Pareto set is found whole
  double deadline_s = 0;     // of an iteration; 0: none
  double budget_usd = 0;     // of an iteration; 0: none
  double power_cap_w = 0;    // of all GPUs in the mean over an iteration; 0: none
  bool exhaustive = false;   // simulate whatever fits in memory: to check bounds by
};

// A strategy on one of the clusters of a search, as the engine judges it.
struct FoundStrategy {
  std::size_t cluster = 0;
  Strategy strategy;
  double iteration_time_s = 0;
  double cost_usd = 0;  // 0: no price is known
  double energy_j = 0;
};

// How many strategies are left behind a step of the search, and the processor time that it took. A strategy is dropped
// by the first step that can tell, so one that could not be among the results may never have been asked whether it fits.
struct FunnelStep {
  std::string_view name;
  std::int64_t count = 0;
  double time_s = 0;
};

struct SearchResult {
  std::vector<FoundStrategy> strategies;  // best first; of a Pareto set, fastest first
  std::vector<FunnelStep> funnel;
};

// Called now and then by the thread that asked for the search, with strategies dealt with and in all.
using SearchProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// Finds the best strategies of `job` on any of `clusters`, exactly: those that simulating all would find, whatever the
// number of threads. Best first by bounds that no strategy is below. Error(infeasible) when there is none, with the
// reason that stood in the way of most.
SearchResult search(const Job& job, const std::vector<Cluster>& clusters, const SearchSpec& spec, int threads = 0,
                    const SearchProgress& progress = {});

}  // namespace mirfak
