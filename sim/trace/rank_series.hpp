#pragma once

#include "simulation/iteration.hpp"
#include "trace/pass_spans.hpp"
#include "trace/stream_index.hpp"

#include <cstdint>
#include <functional>
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

// Memory that a pass or step takes or gives back.
struct MemoryEvent {
  enum class Part : std::uint8_t {
    kept,       // by a forward pass for its backward pass
    released,   // of that, below 0, what is not there at the fullest moment of a pass
    due,        // by a backward pass for the gradients of weights
    workspace,  // of what runs
    gathered,   // by a pass: whole parameters and gradients of blocks
    gradients   // by a backward pass until the optimizer step is over
  };
  Picoseconds time = 0;
  Part part{};
  double bytes = 0;  // below 0: given back
  TaskKind kind{};   // of what runs
  std::int32_t chunk = -1;
  std::int32_t microbatch = -1;
};

// Of one rank: what it holds all the time, and what comes and goes, in the order of time but for passes beside each
// other.
struct RankMemory {
  MemoryUse resident;  // as an iteration begins
  std::vector<MemoryEvent> events;
};

// `blocks`: memory_of_blocks of the plan's stage. `spans`: of a rank of `plan`.
RankMemory rank_memory(const Simulation& simulation, std::span<const BlockMemory> blocks, const StagePlan& plan,
                       std::span<const PassSpan> spans);
// Of all ranks of the program, in its order; the first argument is the index into Program::ranks. `index`: of the
// program.
void for_each_memory(const Simulation& simulation, const StreamIndex& index,
                     const std::function<void(std::uint32_t, const RankMemory&)>& visit);

// As account_memory counts it: the largest total is StageMemory::peak's, to the bit.
std::vector<MemoryPoint> memory_over_time(const RankMemory& rank, Picoseconds end);

// Blocked power, and above it the energy of each task of the compute stream spread evenly over the task. Its
// integral is the rank's energy.
std::vector<PowerPoint> power_over_time(const Simulation& simulation, const StagePlan& plan,
                                        std::span<const TaskId> compute_tasks);

}  // namespace mirfak
