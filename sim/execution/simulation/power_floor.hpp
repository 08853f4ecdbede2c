#pragma once

#include "cluster/facility.hpp"
#include "program/program.hpp"

#include <span>
#include <vector>

namespace mirfak {

// An energy of a GPU's work, evenly spread from start to end. Needs start < end.
struct WorkEnergy {
  Picoseconds start = 0;
  Picoseconds end = 0;
  double joules = 0;
};

// Power that changes evenly from start to end.
struct PowerSlope {
  Picoseconds start = 0;
  Picoseconds end = 0;
  double first_w = 0;  // at the start
  double last_w = 0;   // at the end

  double joules() const { return (first_w + last_w) / 2 * to_seconds(end - start); }
};

// Returns the power that a GPU draws above its work so that it keeps a floor, over an iteration that repeats: it draws
// at least `floor.share` of `limit_w`, its power falls by at most `floor.ramp_down_w_per_s` and rises ahead of work by
// at most `floor.ramp_ahead_w_per_s()`. Exact for work whose power is constant between starts and ends of `work`: the
// power with the floor is the least that is at or above the work's power and keeps all three. `waiting_w`: power of the
// GPU without work.
std::vector<PowerSlope> power_above_work(const PowerFloor& floor, double limit_w, double waiting_w,
                                         std::span<const WorkEnergy> work, Picoseconds iteration);

}  // namespace mirfak
