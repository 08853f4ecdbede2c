#include "plan/work_division.hpp"

#include <algorithm>
#include <limits>

namespace mirfak {

void merge_alike(std::vector<WorkPlace>& places) {
  std::sort(places.begin(), places.end(),
            [](const WorkPlace& a, const WorkPlace& b) { return a.joules_per_unit < b.joules_per_unit; });
  std::vector<WorkPlace> merged;
  for (const WorkPlace& place : places) {
    if (!merged.empty() && merged.back().joules_per_unit == place.joules_per_unit) {
      merged.back().units_per_s += place.units_per_s;
    } else {
      merged.push_back(place);
    }
  }
  places = std::move(merged);
}

namespace {

// Returns the energy of the work alone, in exactly this time.
double filled_up(std::span<const WorkPlace> places, double units, double seconds) {
  double joules = 0;
  for (const WorkPlace& place : places) {
    const double here = std::min(units, place.units_per_s * seconds);
    joules += here * place.joules_per_unit;
    units -= here;
  }
  return joules;
}

}  // namespace

// Between the times at which one more place is no longer needed, the energy is linear in the time, so it is least at
// one of these times or at the first time.
double least_energy(std::span<const WorkPlace> places, double units, double seconds, double blocked_w) {
  double least = std::numeric_limits<double>::infinity();
  double units_per_s = 0;
  for (const WorkPlace& place : places) {
    units_per_s += place.units_per_s;
    const double alone = std::max(seconds, units / units_per_s);
    least = std::min(least, filled_up(places, units, alone) + blocked_w * alone);
  }
  return least;
}

}  // namespace mirfak
