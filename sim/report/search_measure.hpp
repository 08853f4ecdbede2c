#pragma once

#include "base/units.hpp"
#include "plan/search.hpp"

#include <string>

namespace mirfak {

// What a search minimises; of a Pareto set, time.
struct SearchMeasure {
  const char* better;  // "faster"
  double (*value)(const FoundStrategy&);
  std::string (*text)(double);
};

inline SearchMeasure measure_of(SearchObjective objective) {
  switch (objective) {
    case SearchObjective::cost:
      return {"cheaper", [](const FoundStrategy& found) { return found.cost_usd; }, format_usd};
    case SearchObjective::energy:
      return {"thriftier", [](const FoundStrategy& found) { return found.energy_j; },
              [](double joules) { return format_joules(joules); }};
    default:
      return {"faster", [](const FoundStrategy& found) { return found.iteration_time_s; },
              [](double seconds) { return format_seconds(seconds); }};
  }
}

}  // namespace mirfak
