#pragma once

#include "simulation/iteration.hpp"
#include "trace/pass_spans.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Quantities of one rank as steps over time: each value holds from its time to the next point's. A series begins at
// 0 and ends, with a point that repeats the last value, at the end of the iteration; times strictly ascend.
struct MemoryPoint {
  Picoseconds time = 0;
  MemoryUse use;
};
struct PowerPoint {
  Picoseconds time = 0;
  double watts = 0;
};

// As account_memory counts it: the largest total is StageMemory::peak's, to the bit. `blocks`: memory_of_blocks of the
// plan's stage. `spans`: of a rank of `plan`.
std::vector<MemoryPoint> memory_over_time(const Simulation& simulation, std::span<const BlockMemory> blocks,
                                          const StagePlan& plan, std::span<const PassSpan> spans);

// Blocked power, and above it the energy of each task of the compute stream spread evenly over the task. Its
// integral is the rank's energy.
std::vector<PowerPoint> power_over_time(const Simulation& simulation, const StagePlan& plan,
                                        std::span<const TaskId> compute_tasks);

}  // namespace mirfak
