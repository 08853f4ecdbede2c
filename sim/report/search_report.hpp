#pragma once

#include "plan/search.hpp"
#include "scenario/search_scenario.hpp"
#include "simulation/iteration.hpp"

#include <optional>
#include <vector>

namespace mirfak {

// A strategy that a search found, simulated.
struct ReportedStrategy {
  FoundStrategy found;
  IterationResult iteration;
  double wall_time_s = 0;  // of the simulation
};

// All that the reports on a search say.
struct SearchReport {
  const SearchScenario& scenario;
  std::vector<ReportedStrategy> strategies;  // best first; of a Pareto set, fastest first
  // The best strategy whose layout, sizes of groups and nodes, is not that of the best of all: neighbours in a list of
  // the best are near-copies. Nothing: there is none; of a Pareto set it is not asked.
  std::optional<ReportedStrategy> other_layout;
  std::vector<FunnelStep> funnel;
  double least_shortage_bytes = 0;  // SearchResult
  double search_time_s = 0;
};

// Simulates what was found, on up to `threads` threads (0: all cores). Where all that was found has one layout,
// searches once more for the best of another.
SearchReport report_search(const SearchScenario& scenario, SearchResult result, double search_time_s, int threads = 0);

}  // namespace mirfak
