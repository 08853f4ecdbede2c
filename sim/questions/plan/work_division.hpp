#pragma once

#include <span>
#include <vector>

namespace mirfak {

// Devices that can do work of one kind: their speed, all together, and the energy of the work above that of waiting.
struct WorkPlace {
  double units_per_s = 0;
  double joules_per_unit = 0;
};

// Adds up the places that need the same energy for a unit, and sorts the places, the one that needs least energy first.
void merge_alike(std::vector<WorkPlace>& places);

// Returns the least energy, in J, that `units` of work need in an iteration of at least `seconds`, in which everything
// waits at `blocked_w` in addition. If `seconds` is less than all places together take, their time counts. `places`:
// those that need least energy first. However the work is divided, no iteration needs less: in t seconds no place does
// more than t units_per_s, so the least is reached where the thriftiest places are full, and a longer wait, for less
// work on the others, must pay off.
double least_energy(std::span<const WorkPlace> places, double units, double seconds, double blocked_w);

}  // namespace mirfak
