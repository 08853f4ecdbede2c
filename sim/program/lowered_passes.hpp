#pragma once

#include "program/lowering.hpp"

#include <vector>

namespace mirfak {

// A program with the first task of every pass, or part of one, in the order in which they are written: the same at
// every level of detail, two passes beside each other being one.
struct LoweredPasses {
  Program program;
  std::vector<TaskId> begins;
};
LoweredPasses lower_passes(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
                           const LoweringOptions& options = {});

}  // namespace mirfak
