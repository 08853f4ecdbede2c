#pragma once

#include "plan/search.hpp"
#include "simulation/iteration.hpp"

#include <optional>
#include <vector>

namespace mirfak {

// A strategy that a search found, simulated.
struct SimulatedStrategy {
  FoundStrategy found;
  IterationResult iteration;
  double wall_time_s = 0;  // of the simulation
};

// What a search came to: all that reports on it say.
struct SearchOutcome {
  std::vector<SimulatedStrategy> strategies;  // SearchResult
  // The best strategy whose layout is not that of the best of all, asked for or not. Nothing: there is none, or the
  // search was stopped; of a Pareto set it is not asked.
  std::optional<SimulatedStrategy> other_layout;
  std::vector<FunnelStep> funnel;
  double min_shortage_bytes = 0;             // SearchResult
  std::optional<double> headroom_that_fits;  // SearchResult
  double search_time_s = 0;                  // of the search itself
  std::vector<LeftOut> left_out;             // SearchResult
  bool complete = true;                      // SearchResult
  std::optional<double> least_possible;      // SearchResult
  // Where nothing keeps the limits: the fastest and the cheapest without them, and what the GPUs of the fewest nodes
  // draw that only wait, in W. No fastest: nothing runs.
  std::optional<FoundStrategy> fastest;
  std::optional<FoundStrategy> cheapest;
  double least_waiting_w = 0;
};

// Searches, and simulates what was found, on up to `threads` threads (0: all cores). Two layouts are looked for even
// where one is asked for.
SearchOutcome search_and_simulate(const Job& job, const SearchSpec& spec, int threads = 0,
                                  const SearchProgress& progress = {}, const SearchStop& stop = {});

// The best strategy alone, to stand beside a plan that was made otherwise; nullopt: no time is left.
std::optional<SearchOutcome> best_in_time(const Job& job, SearchSpec spec, int threads, const SearchStop& stop);

}  // namespace mirfak
