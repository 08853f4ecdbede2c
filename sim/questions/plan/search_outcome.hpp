#pragma once

#include "plan/search.hpp"
#include "simulation/iteration.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace mirfak {

// A strategy that a search found, simulated.
struct SimulatedStrategy {
  FoundStrategy found;
  IterationResult iteration;
  double wall_time_s = 0;  // wall time of the simulation
};

struct RobustChoice;  // plan/robust_choice.hpp

// Result of a search, with all that reports need.
struct SearchOutcome {
  std::vector<SimulatedStrategy> strategies;  // SearchResult
  // Best strategy with another layout than the best of all, asked for or not. Nothing: there is none, the search was
  // stopped, or it was for a Pareto set.
  std::optional<SimulatedStrategy> other_layout;
  std::optional<SimulatedStrategy> baseline;   // a job as it is stated, to compare with; its caller simulates it
  std::shared_ptr<const RobustChoice> robust;  // null: not asked for; its caller judges the strategies
  std::vector<FunnelStep> funnel;
  double min_shortage_bytes = 0;                  // SearchResult
  std::optional<double> nearest_fit_probability;  // SearchResult
  std::optional<double> headroom_that_fits;       // SearchResult
  double search_time_s = 0;                       // without the simulations
  std::vector<LeftOut> left_out;                  // SearchResult
  bool complete = true;                           // SearchResult
  std::optional<double> least_possible;           // SearchResult
  // Fastest and cheapest strategy without the limits, if nothing keeps them, and the power in W that the GPUs of the
  // choice of nodes with the lowest such power draw while they only wait. No fastest: nothing runs.
  std::optional<FoundStrategy> fastest;
  std::optional<FoundStrategy> cheapest;
  double least_waiting_w = 0;
};

// Simulates a strategy that was found.
SimulatedStrategy simulate_found(FoundStrategy found);

// Simulates a job as it is stated, with the figures of a strategy that a search of `spec` finds.
SimulatedStrategy simulate_stated(const Job& job, const SearchSpec& spec);

// Searches and simulates the strategies found, on up to `threads` threads (0: all cores). Always looks for at least two
// layouts, even if one is asked for.
SearchOutcome search_and_simulate(const Job& job, const SearchSpec& spec, int threads = 0,
                                  const SearchProgress& progress = {}, const SearchStop& stop = {});

// Returns the best strategy alone, for comparison with a plan made in another way; nullopt: no time is left.
std::optional<SearchOutcome> best_in_time(const Job& job, SearchSpec spec, int threads, const SearchStop& stop);

}  // namespace mirfak
