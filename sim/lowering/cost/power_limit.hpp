#pragma once

#include "cluster/hardware.hpp"
#include "cluster/memory_draw.hpp"

#include <span>

namespace mirfak {

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
// factory limit. On a throttled GPU (GpuThrottle, stretch f), seconds of kernels are the throttled ones, draws those at
// the floor of the voltage, and the clock is the one before the throttle: f seconds of work that draws p
// c^kPowerExponent at the floor draw offset + p c^kPowerExponent / f, so that their part of the condition is the one
// with kVoltageFloorLimit, over f.
class PowerMix {
 public:
  explicit PowerMix(double limit = 1) : limit_(limit) {}
  explicit PowerMix(const GpuSpec& gpu) : limit_(gpu.limit_share()), stretch_(gpu.throttle.stretch) {}
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
  double stretch_ = 1;  // GpuThrottle
  double clocked_s_ = 0;
  double clocked_energy_ = 0;  // seconds x share of the power limit
  double other_s_ = 0;
  double other_energy_ = 0;
};

}  // namespace mirfak
