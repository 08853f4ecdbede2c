#pragma once

#include "program/program.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mirfak {

// Prices of time, in joules per second of shortening, are whole microwatts, so that flows of prices add up exactly.
using Microwatts = std::int64_t;
inline constexpr Microwatts kUnlimited = Microwatts(1) << 62;

// Choices that a way to run a pass makes besides one clock for all of it.
struct PassWay {
  struct Run {
    double clock_hz = 0;
    int parts = 0;  // consecutive parts of the pass (energy/part_clocks.hpp) that run at this clock
  };
  // The kernel of a part, from 0, with which the collectives of the other half beside the part start.
  struct Launch {
    int part = 0;
    int kernel = 0;
  };
  // Consecutive parts whose collectives have the same multiprocessors: those beside the part, or between it and the
  // next.
  struct Channels {
    int communication_sms = 0;  // as in Strategy
    int parts = 0;
  };
  int nanobatches = 1;             // as in Strategy
  int communication_sms = 0;       // as in Strategy; `channels` says otherwise if it is not empty
  std::vector<Channels> channels;  // in the order of the pass
  std::vector<Run> clocks;         // in the order of the pass
  std::vector<Launch> launches;    // of the other parts, collectives start as soon as their data are there
};

// One way to run a pass: a clock that the GPU can be set to, with the time and energy of the pass at this clock.
struct ClockChoice {
  double clock_hz = 0;  // mean over the time of the kernels, if parts of the pass have clocks of their own
  Picoseconds duration = 0;
  double energy_j = 0;                      // above the energy of waiting as long, of all ranks that run the pass alike
  std::shared_ptr<const PassWay> way = {};  // null: one clock, and the rest as the job says

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
