// The least power that keeps a floor and a steepest fall follows from one sweep over the steps of the work's power:
// after a step, the power is that of the next step or of the floor, or still falls. At the highest step nothing falls
// any more, whatever came before; so a sweep that begins there closes the circle of iterations.
#include "simulation/power_floor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mirfak {

namespace {

// Work of constant power.
struct Step {
  Picoseconds start = 0;
  Picoseconds end = 0;
  double watts = 0;
};

std::vector<Step> steps_of(double waiting_w, std::span<const WorkEnergy> work, Picoseconds iteration) {
  std::vector<std::pair<Picoseconds, double>> changes = {{0, 0}, {iteration, 0}};
  for (const WorkEnergy& of : work) {
    const double watts = of.joules / to_seconds(of.end - of.start);
    changes.emplace_back(of.start, watts);
    changes.emplace_back(of.end, -watts);
  }
  std::sort(changes.begin(), changes.end());
  std::vector<Step> out;
  double watts = waiting_w;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    watts += changes[i].second;
    if (changes[i].first < changes[i + 1].first) out.push_back({changes[i].first, changes[i + 1].first, watts});
  }
  return out;
}

// Adds the power above one step, and returns the power at its end. `before_w`: the power at its start.
double add_step(const Step& step, double before_w, double least_w, double fall_w_per_s, std::vector<PowerSlope>& out) {
  const double kept_w = std::max(step.watts, least_w);
  Picoseconds even_from = step.start;
  double end_w = kept_w;
  if (before_w > kept_w && fall_w_per_s > 0) {
    const double whole_s = (before_w - kept_w) / fall_w_per_s;
    const double length_s = to_seconds(step.end - step.start);
    if (whole_s < length_s) {
      even_from = std::min(step.end, step.start + to_picoseconds(whole_s));
    } else {
      even_from = step.end;
      end_w = before_w - fall_w_per_s * length_s;
    }
    if (even_from > step.start) out.push_back({step.start, even_from, before_w - step.watts, end_w - step.watts});
  }
  if (even_from < step.end && kept_w > step.watts) {
    out.push_back({even_from, step.end, kept_w - step.watts, kept_w - step.watts});
  }
  return end_w;
}

}  // namespace

std::vector<PowerSlope> power_above_work(const PowerFloor& floor, double limit_w, double waiting_w,
                                         std::span<const WorkEnergy> work, Picoseconds iteration) {
  const std::vector<Step> steps = steps_of(waiting_w, work, iteration);
  std::vector<PowerSlope> out;
  const auto highest =
      std::max_element(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.watts < b.watts; });
  if (highest == steps.end()) return out;
  const auto first = static_cast<std::size_t>(highest - steps.begin());
  double watts = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    watts = add_step(steps[(first + i) % steps.size()], watts, floor.share * limit_w, floor.ramp_down_w_per_s, out);
  }
  return out;
}

}  // namespace mirfak
