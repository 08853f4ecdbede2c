#pragma once

#include "program/blocks_of_job.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

#include <algorithm>
#include <optional>

namespace mirfak {

// Memory of one rank as PyTorch's caching allocator has it (caching_allocator.hpp), in bytes: without what lies beside
// the allocator (MemoryUse::platform).
struct ReservedMemory {
  double allocated = 0;  // blocks in use at the fullest moment
  double reserved = 0;   // segments taken from the device, the most at any time
  bool ran_out = false;  // even with cached segments given back, the device has less
  double capacity = 0;   // bytes that the allocator can take

  double cached() const { return std::max(0.0, reserved - allocated); }  // free pieces between blocks in use
};

// Replays what one rank of a stage asks its allocator for, over the first two iterations: its state; the tensors of
// each block of each pass in the order in which they come and go (block_allocations()); gradients, which come with the
// first backward pass if the framework frees them after each step; moments of the optimizer, which come with the first
// step, where activations lay. Few microbatches stand for all. The halves of a split backward pass are replayed as a
// whole. nullopt if the framework has another allocator (`memory.caching_allocator`), or if layers are recomputed in
// groups or keep their activations on the host, which is not replayed.
std::optional<ReservedMemory> reserved_memory(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan);

}  // namespace mirfak
