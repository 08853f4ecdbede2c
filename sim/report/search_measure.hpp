#pragma once

#include "plan/search.hpp"

namespace mirfak {

// What a search minimises; of a Pareto set, time.
struct SearchMeasure {
  const char* better;  // "faster"
  double (*value)(const FoundStrategy&);
};

inline SearchMeasure measure_of(SearchObjective objective) {
  switch (objective) {
    case SearchObjective::cost:
      return {"cheaper", [](const FoundStrategy& found) { return found.cost_usd; }};
    case SearchObjective::energy:
      return {"thriftier", [](const FoundStrategy& found) { return found.energy_j; }};
    default:
      return {"faster", [](const FoundStrategy& found) { return found.iteration_time_s; }};
  }
}

}  // namespace mirfak
