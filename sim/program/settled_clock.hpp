#pragma once

#include "program/stage_plan.hpp"

#include <utility>
#include <vector>

namespace mirfak {

// The layers of a stage by block, ascending, as the smallest whole numbers of that proportion: all that the clock
// depends on.
using LayerMix = std::vector<std::pair<BlockId, int>>;
LayerMix layer_mix(const ShardedBlocks& blocks, const StageContents& stage);

// The share of the full clock at which devices settle under their power limit: over forward and backward passes of
// these layers, what waits between kernels included. `costs` are at the full clock.
double settled_clock(const Job& job, const ShardedBlocks& blocks, const LayerMix& layers, const StageCosts& costs);

}  // namespace mirfak
