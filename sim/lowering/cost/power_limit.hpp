#pragma once

#include "cluster/memory_draw.hpp"

#include <span>

namespace mirfak {

// Exponent with which the draw of a busy device grows with the clock (voltage falls with the clock). It is 2.3 to 2.8
// on an A100 between 0.93 and 1 of its highest clock: 200 + 287 c^4.7 W, fitted to the profiles of Perseus (arXiv
// 2312.06902).
inline constexpr double kPowerExponent = 2.3;

// Draws are shares of the power limit, at the full clock: products that execute `utilisation` of the peak draw
// utilisation / threshold.
struct PowerLimit {
  double threshold = 1;

  double draw(double utilisation) const { return utilisation / threshold; }
  // Returns the clock, as a share of the full one, at which a device settles that does nothing else: 1 or less.
  double clock_share(double utilisation) const;
};

// A mix of kernels and waiting that a device runs in turns of milliseconds. The power limit holds for the mean over
// tens of milliseconds, so that kernels above the limit keep their clock if other work leaves room. At a clock share c,
// work that depends on the clock takes t / c and draws p c^kPowerExponent; other work (memory, waiting) keeps its time
// and draw. The clock is the highest with
//   sum of energies <= power limit x sum of times.
// Draws are shares of the limit that a device leaves its factory with; `limit` is a lower limit as a share of the
// factory limit.
class PowerMix {
 public:
  explicit PowerMix(double limit = 1) : limit_(limit) {}
  void add_clocked(double seconds, double draw);  // time and draw at the full clock
  void add_other(double seconds, double draw);
  void add_memory_bound(double seconds);  // at the draw of memory_bound_draw() under the limit
  double clock_share() const;             // 1 or less
  // Returns an upper bound: no mix of this one and some of `others`, each taken whole or not at all, has a higher
  // clock.
  double highest_clock_share(std::span<const PowerMix> others) const;

 private:
  // Returns the energy at a clock minus the energy that the limit allows in that time; it rises with the clock.
  double excess(double clock) const;

  double limit_ = 1;
  double clocked_s_ = 0;
  double clocked_energy_ = 0;  // seconds x share of the power limit
  double other_s_ = 0;
  double other_energy_ = 0;
};

}  // namespace mirfak
