#pragma once

#include "cluster/memory_draw.hpp"

#include <span>

namespace mirfak {

// By which power of the clock the draw of a busy device grows: voltage falls with the clock. 2.3 to 2.8 on an A100
// between 0.93 and 1 of its highest clock: 200 + 287 c^4.7 W, fitted to the profiles of Perseus (arXiv 2312.06902).
inline constexpr double kPowerExponent = 2.3;

// Draws are shares of the power limit, at the full clock: products that execute `utilisation` of the peak draw
// utilisation / threshold.
struct PowerLimit {
  double threshold = 1;

  double draw(double utilisation) const { return utilisation / threshold; }
  // The clock, as a share of the full one, that a device settles at which does nothing else: 1 or less.
  double clock_share(double utilisation) const;
};

// What a device does in turns of milliseconds: the power limit holds for the mean over tens of them, so that kernels
// above the limit keep their clock where others leave room. At a clock share c, work that depends on the clock takes
// t / c and draws p c^kPowerExponent; other work (memory, waiting) keeps time and draw. The clock is the highest with
//   sum of energies <= power limit x sum of times.
// Draws are shares of the limit that a device leaves its factory with; a lower one is `limit` of that.
class PowerMix {
 public:
  explicit PowerMix(double limit = 1) : limit_(limit) {}
  void add_clocked(double seconds, double draw);  // time and draw at the full clock
  void add_other(double seconds, double draw);
  double clock_share() const;  // 1 or less
  // No mix of this and some of `others`, each whole or not at all, has a higher clock.
  double highest_clock_share(std::span<const PowerMix> others) const;

 private:
  // By how much the energy at a clock is above what the limit allows in that time; it rises with the clock.
  double excess(double clock) const;

  double limit_ = 1;
  double clocked_s_ = 0;
  double clocked_energy_ = 0;  // of the power limit, in seconds
  double other_s_ = 0;
  double other_energy_ = 0;
};

}  // namespace mirfak
