#pragma once

#include "program/stage_plan.hpp"

#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// The layers of a stage by block, ascending, as the smallest whole numbers in the same proportion. Ends of the model on
// the stage count 0: there a host that is late in layers catches up. The clock depends on nothing else.
using LayerMix = std::vector<std::pair<BlockId, int>>;
LayerMix layer_mix(const ShardedBlocks& blocks, std::span<const ChunkPlan> chunks);

// The share of the full clock at which devices settle under their power limit during forward and backward passes of
// these layers, if the other work of the stage leaves the devices no time to rest. `costs` are at the full clock.
double settled_clock(const Job& job, const ShardedBlocks& blocks, const LayerMix& layers, const StageCosts& costs);
// Bounds of this clock.
ClockBounds clock_bounds(const Job& job, const ShardedBlocks& blocks, const LayerMix& layers, const StageCosts& costs);

// Forward steps that run again before the backward pass, in a share of the layers between `from` and `to`.
struct RunAgain {
  std::vector<bool> steps;  // steps that run again; empty: none
  double from = 0;
  double to = 1;
  bool host_waits = false;  // the host waits for the device, in this layer or another
};

// Upper bound of the clock of any mix of a layer with these bodies and of the same layer with steps that run again. The
// bodies are priced at the full clock.
double highest_settled_clock(const BlockBodies& kept, const GpuSpec& gpu, const RunAgain& again);
// Lower bound of the clock of any mix of a layer with these bodies and of the same layer with `steps` that run again,
// in any share of the layers.
double lowest_settled_clock(const BlockBodies& kept, const GpuSpec& gpu, const std::vector<bool>& steps);

}  // namespace mirfak
