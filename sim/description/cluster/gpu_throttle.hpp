#pragma once

namespace mirfak {

struct GpuSpec;

// Work of a GPU under a power limit below kVoltageFloorLimit. There the voltage falls no further, so an operation or a
// byte costs the same energy at any speed, and the GPU does less of both in a second: of the draw D at the floor (a
// share of the limit ex factory, as all draws here), blocked_w b stays, and the rest falls with the speed:
//   draw at 1 / f of the speed = b + (D - b) / f,   f = (kVoltageFloorLimit - b) / (limit - b)
// so that what draws kVoltageFloorLimit at the floor draws the limit. A GPU cannot run below clock_min_hz; where this
// speed would need a lower clock, it runs at the lowest clock for a share d of the time and halts, at idle_w, for the
// rest (duty cycle):
//   draw = d (b + (D - b) / f_min) + (1 - d) idle,   f = f_min / d
// Both are one line: draw = offset + D / stretch. Against the 106 runs of Zeus's sweeps that draw at least 0.85 of the
// limit ex factory and were run below 0.55 of it, with no constant fitted: 17 % off on average, bias +5 %.
struct GpuThrottle {
  double stretch = 1;    // f: kernels take so many times as long as at the floor of the voltage
  double offset = 0;     // part of the draw that does not depend on the work
  double duty = 1;       // share of the time in which the GPU is not halted
  double blocked_w = 0;  // blocked_w without the limit; 0: no limit changed it

  bool active() const { return stretch > 1; }
  // Returns the draw of work that draws `draw` at the floor of the voltage.
  double draw(double draw_at_floor) const { return offset + draw_at_floor / stretch; }

  friend bool operator==(const GpuThrottle&, const GpuThrottle&) = default;
};

// Returns the lowest power limit that a GPU can keep, in W: the first whole one above its draw without work, or, if it
// waits at more than kVoltageFloorLimit, that limit.
double lowest_limit_w(const GpuSpec& gpu);

// Sets the power limit, at least lowest_limit_w(). Below kVoltageFloorLimit the peaks and the bandwidth of memory are
// those that the limit leaves, and say so as their source; a limit below blocked_w holds for waiting, too. A limit that
// was set before is undone.
void limit_power(GpuSpec& gpu, double watts);

// Work that draws `draw_w` at a GPU's clock, while the GPU may draw less: its speed, as a share of that at this clock.
// Down to the floor of the voltage, the draw is that of clocks (speed^kPowerExponent); below it the law of GpuThrottle
// holds: a line down to the lowest clock, and another one where the GPU halts for a share of the time.
class WorkUnderLimit {
 public:
  // `clock`: a share of the highest. Needs draw_w > blocked_w.
  WorkUnderLimit(const GpuSpec& gpu, double clock, double draw_w);

  // Returns the speed where the GPU may draw so much; 1 from `draw_w` on. Needs watts >= blocked_w.
  double speed(double watts) const;
  // Returns the integral of the speed over the draw: the work, in s, that is done while the draw rises by 1 W/s. Needs
  // blocked_w <= from_w <= to_w <= draw_w.
  double speed_times_watts(double from_w, double to_w) const;

 private:
  double draw_w_ = 0;
  double waiting_w_ = 0;
  double idle_w_ = 0;
  double at_floor_ = 1;    // speed at the floor of the voltage
  double floor_w_ = 0;     // draw there
  double at_slowest_ = 1;  // speed at the lowest clock
  double slowest_w_ = 0;   // draw there
};

// Returns the clock, as a share of the highest, at which a GPU without its throttle is as fast as the throttled one at
// `share`: clocks that are set hold for the throttled GPU.
double unthrottled_clock(const GpuSpec& gpu, double share);

}  // namespace mirfak
