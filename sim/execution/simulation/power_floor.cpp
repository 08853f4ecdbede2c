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

namespace {

// Returns the power above the steps that keeps `least_w` and falls by at most `fall_w_per_s`; 0: at once.
std::vector<PowerSlope> falling_above(const std::vector<Step>& steps, double least_w, double fall_w_per_s) {
  std::vector<PowerSlope> out;
  const auto highest =
      std::max_element(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.watts < b.watts; });
  if (highest == steps.end()) return out;
  const auto first = static_cast<std::size_t>(highest - steps.begin());
  double watts = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    watts = add_step(steps[(first + i) % steps.size()], watts, least_w, fall_w_per_s, out);
  }
  return out;
}

// Returns the same backwards in time, in order of time.
std::vector<PowerSlope> reversed(std::vector<PowerSlope> slopes, Picoseconds iteration) {
  std::reverse(slopes.begin(), slopes.end());
  for (PowerSlope& slope : slopes) {
    slope = {iteration - slope.end, iteration - slope.start, slope.last_w, slope.first_w};
  }
  return slopes;
}

std::vector<Step> reversed(std::vector<Step> steps, Picoseconds iteration) {
  std::reverse(steps.begin(), steps.end());
  for (Step& step : steps) step = {iteration - step.end, iteration - step.start, step.watts};
  return steps;
}

// The power of slopes that do not overlap, at the times of a line between two of their ends.
class SlopeReader {
 public:
  explicit SlopeReader(std::vector<PowerSlope> slopes) : slopes_(std::move(slopes)) {
    std::sort(slopes_.begin(), slopes_.end(),
              [](const PowerSlope& a, const PowerSlope& b) { return a.start < b.start; });
  }

  const std::vector<PowerSlope>& slopes() const { return slopes_; }

  // Returns the part of a slope from `start` to `end`, between which none begins or ends; calls ascend in time.
  PowerSlope between(Picoseconds start, Picoseconds end) {
    while (next_ < slopes_.size() && slopes_[next_].end <= start) ++next_;
    if (next_ == slopes_.size() || slopes_[next_].start > start) return {start, end, 0, 0};
    const PowerSlope& of = slopes_[next_];
    const auto at = [&](Picoseconds time) {
      const double share = static_cast<double>(time - of.start) / static_cast<double>(of.end - of.start);
      return of.first_w + share * (of.last_w - of.first_w);
    };
    return {start, end, at(start), at(end)};
  }

 private:
  std::vector<PowerSlope> slopes_;
  std::size_t next_ = 0;
};

// Adds the higher of two slopes between the same times, which may cross once.
void add_higher(const PowerSlope& a, const PowerSlope& b, std::vector<PowerSlope>& out) {
  const double first = a.first_w - b.first_w;
  const double last = a.last_w - b.last_w;
  const auto add = [&](const PowerSlope& slope) {
    if (slope.start < slope.end && (slope.first_w > 0 || slope.last_w > 0)) out.push_back(slope);
  };
  if (first * last >= 0) return add(first + last >= 0 ? a : b);
  const double share = first / (first - last);
  const Picoseconds crossing = a.start + std::llround(share * static_cast<double>(a.end - a.start));
  const double there_w = a.first_w + share * (a.last_w - a.first_w);
  const PowerSlope& before = first > 0 ? a : b;
  const PowerSlope& after = first > 0 ? b : a;
  add({a.start, crossing, before.first_w, there_w});
  add({crossing, a.end, there_w, after.last_w});
}

// Returns the higher of two powers above the same work at each time.
std::vector<PowerSlope> higher_of(std::vector<PowerSlope> one, std::vector<PowerSlope> other) {
  SlopeReader a(std::move(one));
  SlopeReader b(std::move(other));
  std::vector<Picoseconds> times;
  for (const SlopeReader* each : {&a, &b}) {
    for (const PowerSlope& slope : each->slopes()) times.insert(times.end(), {slope.start, slope.end});
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<PowerSlope> out;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    add_higher(a.between(times[i], times[i + 1]), b.between(times[i], times[i + 1]), out);
  }
  return out;
}

}  // namespace

// A power that rises by at most so much is, backwards in time, one that falls by at most as much. The least power that
// does both is the higher of the two at each time: where one of them jumps, the other is at the top of the jump.
std::vector<PowerSlope> power_above_work(const PowerFloor& floor, double limit_w, double waiting_w,
                                         std::span<const WorkEnergy> work, Picoseconds iteration) {
  const std::vector<Step> steps = steps_of(waiting_w, work, iteration);
  const double least_w = floor.share * limit_w;
  std::vector<PowerSlope> falling = falling_above(steps, least_w, floor.ramp_down_w_per_s);
  if (floor.ramp_ahead_w_per_s() == 0) return falling;
  std::vector<PowerSlope> rising =
      reversed(falling_above(reversed(steps, iteration), least_w, floor.ramp_ahead_w_per_s()), iteration);
  return higher_of(std::move(falling), std::move(rising));
}

}  // namespace mirfak
