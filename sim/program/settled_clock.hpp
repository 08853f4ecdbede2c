#pragma once

#include "program/stage_plan.hpp"

namespace mirfak {

// The share of the full clock at which a stage's devices settle under their power limit: over forward and backward
// passes of the stage's layers, what waits between kernels included. `plan` needs no bodies yet.
double settled_clock(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan);

}  // namespace mirfak
