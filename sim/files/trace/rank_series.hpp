#pragma once

#include "simulation/iteration.hpp"
#include "trace/pass_spans.hpp"
#include "trace/stream_index.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace mirfak {

// Quantities of one rank as steps over time: each value holds from its time to the time of the next point. A series
// begins at 0 and ends at the end of the iteration, with a point that repeats the last value; times strictly ascend.
struct MemoryPoint {
  Picoseconds time = 0;
  MemoryUse use;
};
struct PowerPoint {
  Picoseconds time = 0;
  double watts = 0;
};

// Memory that a pass or optimizer step takes or gives back.
struct MemoryEvent {
  enum class Part : std::uint8_t {
    kept,       // kept by a forward pass for its backward pass
    released,   // part of `kept`, below 0: memory that is not held at the fullest moment of a pass
    due,        // kept by a backward pass for the gradients of weights
    workspace,  // workspace of the running pass or step
    gathered,   // whole parameters and gradients of blocks, gathered by a pass
    gradients   // gradients from a backward pass until the end of the optimizer step
  };
  Picoseconds time = 0;
  Part part{};
  double bytes = 0;  // below 0: given back
  TaskKind kind{};   // kind of the running pass or step
  std::int32_t chunk = -1;
  std::int32_t microbatch = -1;
};

// Memory of one rank: the memory that it holds all the time, and the memory that is taken and given back, in the order
// of time except for passes that run as a pair.
struct RankMemory {
  MemoryUse resident;  // at the begin of an iteration
  std::vector<MemoryEvent> events;
};

// `blocks`: memory_of_blocks of the plan's stage. `spans`: the passes of a rank of `plan`.
RankMemory rank_memory(const Simulation& simulation, std::span<const BlockMemory> blocks, const StagePlan& plan,
                       std::span<const PassSpan> spans);
// Visits the memory of all ranks of the program, in its order; the first argument of `visit` is the index into
// Program::ranks. `index`: of the program.
void for_each_memory(const Simulation& simulation, const StreamIndex& index,
                     const std::function<void(std::uint32_t, const RankMemory&)>& visit);

// Returns a rank's memory over time, counted as account_memory counts it: the largest total equals StageMemory::peak,
// to the bit.
std::vector<MemoryPoint> memory_over_time(const RankMemory& rank, Picoseconds end);

// Returns a rank's power over time: the blocked power, and in addition the energy of each task of the compute stream,
// spread evenly over the task. Its integral is the rank's energy.
std::vector<PowerPoint> power_over_time(const Simulation& simulation, const StagePlan& plan,
                                        std::span<const TaskId> compute_tasks);

}  // namespace mirfak
