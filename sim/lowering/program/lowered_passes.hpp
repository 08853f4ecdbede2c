#pragma once

#include "program/lowering.hpp"

#include <vector>

namespace mirfak {

// A program with the first task of every pass, or of every part of a pass, in the order in which they are written. This
// order is the same at every level of detail; two passes that run in parallel count as one.
struct LoweredPasses {
  Program program;
  std::vector<TaskId> begins;
};
LoweredPasses lower_passes(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
                           const LoweringOptions& options = {});

}  // namespace mirfak
