#pragma once

#include <span>
#include <vector>

namespace mirfak {

// Devices that can do work of one kind: at what speed, all together, and what it needs above the power of waiting.
struct WorkPlace {
  double units_per_s = 0;
  double joules_per_unit = 0;
};

// The same places, those that need equally much for a unit added up, the thriftiest first.
void merge_alike(std::vector<WorkPlace>& places);

// The least energy, in J, that `units` of work need in an iteration of at least `seconds`, in which everything waits at
// `blocked_w` beside. What is faster than all places together takes no less than they do. `places`: the thriftiest
// first. However the work is divided, no iteration needs less: in t seconds no place does more than t units_per_s, so
// the least is where the thriftiest are full, and waiting longer, for less work on the others, has to be worth it.
double least_energy(std::span<const WorkPlace> places, double units, double seconds, double blocked_w);

}  // namespace mirfak
