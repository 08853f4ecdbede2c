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

// Time and energy of a task of one class.
struct ClassPrice {
  Picoseconds duration = 0;
  double energy_j = 0;
};
// Returns the prices of the classes of passes and of their parts, by ClassId of the program that lower() would write,
// without writing its tasks: for a job that is priced at many clocks. Other classes have a duration of 0. The options
// must ask for a folded program.
std::vector<ClassPrice> prices_of_passes(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
                                         const LoweringOptions& options);

}  // namespace mirfak
