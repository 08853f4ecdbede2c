#pragma once

#include "base/units.hpp"
#include "plan/search_outcome.hpp"

#include <string>

namespace mirfak {

// Measure that a search minimises; for a Pareto set, the time of an iteration.
struct SearchMeasure {
  const char* better;  // "faster"
  const char* of;      // "an iteration"
  double (*value)(const FoundStrategy&);
  std::string (*text)(double);
};

inline SearchMeasure measure_of(SearchObjective objective) {
  switch (objective) {
    case SearchObjective::cost:
      return {"cheaper", "an iteration", [](const FoundStrategy& found) { return found.cost_usd; }, format_usd};
    case SearchObjective::energy:
      return {"thriftier", "an iteration", [](const FoundStrategy& found) { return found.energy_j; },
              [](double joules) { return format_joules(joules); }};
    case SearchObjective::finish:
      return {"sooner", "the training", [](const FoundStrategy& found) { return found.finish_s; },
              [](double seconds) { return format_seconds(seconds); }};
    default:
      return {"faster", "an iteration", [](const FoundStrategy& found) { return found.iteration_time_s; },
              [](double seconds) { return format_seconds(seconds); }};
  }
}

// True if predictions cannot tell two strategies apart: their ranges of the measure, scaled from the ranges of their
// iterations, overlap. False if the ranges are not known.
inline bool ties(const SearchMeasure& measure, const SimulatedStrategy& a, const SimulatedStrategy& b) {
  if (a.iteration.iteration_time_high_s <= 0) return false;
  const auto scaled = [&](const SimulatedStrategy& of, double seconds) {
    return measure.value(of.found) * seconds / of.iteration.iteration_time_s;
  };
  return scaled(a, a.iteration.iteration_time_high_s) >= scaled(b, b.iteration.iteration_time_low_s) &&
         scaled(b, b.iteration.iteration_time_high_s) >= scaled(a, a.iteration.iteration_time_low_s);
}

}  // namespace mirfak
