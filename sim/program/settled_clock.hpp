#pragma once

#include "program/stage_plan.hpp"

#include <utility>
#include <vector>

namespace mirfak {

// The layers of a stage by block, ascending, as the smallest whole numbers of that proportion, and ends of the model on
// it as none (0): there a host that is late in layers catches up. All that the clock depends on.
using LayerMix = std::vector<std::pair<BlockId, int>>;
LayerMix layer_mix(const ShardedBlocks& blocks, const StageContents& stage);

// The share of the full clock at which devices settle under their power limit over forward and backward passes of these
// layers, where what else the stage does leaves them no time to rest. `costs` are at the full clock.
SettledClock settled_clock(const Job& job, const ShardedBlocks& blocks, const LayerMix& layers,
                           const StageCosts& costs);

// Forward steps that run again in front of the backward pass, in a share of the layers between two.
struct RunAgain {
  std::vector<bool> steps;  // which; empty: none
  double from = 0;
  double to = 1;
  bool host_waits = false;  // for the device, in some layer beside it or in itself
};

// Of a layer with these bodies, priced at the full clock, no less than the clock of any mix of it with itself where
// steps run again.
double highest_settled_clock(const BlockBodies& kept, const GpuSpec& gpu, const RunAgain& again);
// ... no more than that of any such mix, `steps` run again in any share of the layers.
double lowest_settled_clock(const BlockBodies& kept, const GpuSpec& gpu, const std::vector<bool>& steps);

}  // namespace mirfak
