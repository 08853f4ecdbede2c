#include "cost/power_limit.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

double PowerLimit::clock_share(double utilisation) const {
  return utilisation <= threshold ? 1 : std::pow(threshold / utilisation, 1 / kPowerExponent);
}

void PowerMix::add_clocked(double seconds, double draw) {
  clocked_s_ += seconds;
  clocked_energy_ += seconds * draw;
}

void PowerMix::add_other(double seconds, double draw) {
  other_s_ += seconds;
  other_energy_ += seconds * draw;
}

void PowerMix::add_memory_bound(double seconds) { add_other(seconds, memory_bound_draw(limit_)); }

double PowerMix::excess(double clock) const {
  const double clocked = clocked_energy_ * std::pow(clock, kPowerExponent - 1);
  if (stretch_ == 1) return clocked + other_energy_ - limit_ * (clocked_s_ / clock + other_s_);
  return (clocked - kVoltageFloorLimit * clocked_s_ / clock) / stretch_ + other_energy_ - limit_ * other_s_;
}

namespace {

// Returns the highest clock that is allowed. Energy falls with the clock, and the time in which it may be spent grows,
// so both meet at one clock.
template <typename TooMuch>
double highest_allowed(const TooMuch& too_much) {
  if (!too_much(1)) return 1;
  constexpr double kLowest = 0.1;
  constexpr int kHalvings = 30;
  double low = kLowest;
  double high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (too_much(middle) ? high : low) = middle;
  }
  return low;
}

}  // namespace

double PowerMix::clock_share() const {
  if (clocked_s_ == 0) return 1;
  return highest_allowed([&](double clock) { return excess(clock) > 0; });
}

// At any clock, exactly the others with negative excess leave room.
double PowerMix::highest_clock_share(std::span<const PowerMix> others) const {
  return highest_allowed([&](double clock) {
    double sum = excess(clock);
    for (const PowerMix& other : others) sum += std::min(0.0, other.excess(clock));
    return sum > 0;
  });
}

}  // namespace mirfak
