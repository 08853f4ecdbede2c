#pragma once

#include "cluster/perturbations.hpp"
#include "plan/search_outcome.hpp"
#include "simulation/spread.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace mirfak {

// Share of iterations that the time by which strategies are judged is not exceeded in.
inline constexpr double kRobustShare = 0.9;
// Sampled iterations of each strategy.
inline constexpr int kRobustSamples = 200;

// Time that iterations of a strategy take, as far as it is uncertain: `cluster.perturbations` are drawn for each
// iteration, and the whole takes so much longer or shorter as measured iterations took than predicted ones
// (PredictionRange). Both are independent of each other.
struct UncertainTime {
  double median_s = 0;
  double p90_s = 0;                        // kRobustShare of iterations take no longer
  double perturbed_s = 0;                  // time that perturbations add to an iteration, on average
  std::array<double, kCauses> excess_s{};  // time that each cause adds on the critical path, on average
  double range_s = 0;                      // upper end of the prediction's range, less the prediction; 0: not known
};

// Returns the uncertain time of a strategy on its cluster with these perturbations; without drawn ones, of the range
// alone. The same bits on any number of threads. Error(infeasible) as of sample_iterations().
UncertainTime uncertain_time(const SimulatedStrategy& strategy, const Perturbations& perturbations, int threads = 0);

// A strategy with its uncertain time.
struct RobustStrategy {
  SimulatedStrategy strategy;
  UncertainTime time;
};

// The strategy with the least UncertainTime::p90_s among those that a search found, beside the fastest.
struct RobustChoice {
  RobustStrategy fastest;
  RobustStrategy robust;
  std::size_t candidates = 0;  // strategies that were judged
  bool drawn = false;          // perturbations are drawn

  bool differs() const { return robust.time.p90_s < fastest.time.p90_s; }
};

// Judges all strategies of a search and their variants; `found`: at least one, the fastest first. On equal times the
// faster one is chosen.
RobustChoice robust_choice(std::span<const SimulatedStrategy> found, const Perturbations& perturbations,
                           int threads = 0);

}  // namespace mirfak
