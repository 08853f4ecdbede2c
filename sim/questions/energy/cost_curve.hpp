#pragma once

#include "program/program.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// Prices of time, in joules per second of shortening, are whole microwatts, so that flows of prices add up exactly.
using Microwatts = std::int64_t;
inline constexpr Microwatts kUnlimited = Microwatts(1) << 62;

// One way to run a pass: a clock that the GPU can be set to, with the time and energy of the pass at this clock.
struct ClockChoice {
  double clock_hz = 0;
  Picoseconds duration = 0;
  double energy_j = 0;  // above the energy of waiting as long, of all ranks that run the pass alike

  friend bool operator==(const ClockChoice&, const ClockChoice&) = default;
};

// Energy as a convex, piecewise linear, falling function of a duration.
struct CostCurve {
  std::vector<Picoseconds> durations;  // its corners, slowest first: strictly descending, at least one
  // prices[i]: cost of shortening by a second between durations[i] and durations[i + 1]; strictly ascending, positive,
  // at most kSteepest. Longer durations than the slowest corner cost the same; shorter ones than the fastest do not
  // exist.
  std::vector<Microwatts> prices;

  static constexpr Microwatts kSteepest = 1'000'000'000'000'000;  // a gigawatt
};

// The choices of one kind of pass that are worth making.
struct PassChoices {
  // No choice takes at least as long and at least the energy of another. Slowest first: durations descend, energies
  // ascend.
  std::vector<ClockChoice> useful;
  CostCurve curve;             // the lower convex hull of `useful`
  std::size_t dominated = 0;   // choices left out of `useful`
  std::size_t above_hull = 0;  // useful ones above the curve: used for rounding alone
};

// Finds the useful choices. `choices`: in any order, at least one.
PassChoices pass_choices(std::span<const ClockChoice> choices);

}  // namespace mirfak
