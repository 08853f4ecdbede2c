#pragma once

#include "program/blocks_of_job.hpp"
#include "program/job.hpp"
#include "program/memory.hpp"
#include "program/stage_plan.hpp"

#include <memory>
#include <optional>
#include <span>

namespace mirfak {

// Keeps replays of stages that run the same blocks under the same framework, by all that a replay depends on:
// strategies that differ in clocks, or in overlaps that hold no memory, have the same. Several threads may use it at
// once.
class KnownReplays {
 public:
  KnownReplays();
  ~KnownReplays();

 private:
  friend std::optional<ReservedMemory> reserved_memory(const Job& job, const ShardedBlocks& blocks,
                                                       const StagePlan& plan, KnownReplays* known);
  struct Replays;
  std::unique_ptr<Replays> replays_;
};

// Replays what one rank of a stage asks its allocator for, over the first two iterations: its state; the tensors of
// each block of each pass in the order in which they come and go (block_allocations()); gradients, which come with the
// first backward pass if the framework frees them after each step; moments of the optimizer, which come with the first
// step, where activations lay. Few microbatches stand for all. The halves of a split backward pass are replayed as a
// whole. nullopt if the framework has another allocator (`memory.caching_allocator`), or if layers are recomputed in
// groups or keep their activations on the host, which is not replayed. `known`: replays of the same blocks; null: none.
std::optional<ReservedMemory> reserved_memory(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan,
                                              KnownReplays* known = nullptr);

// Returns what the allocator of a stage of the job takes from its device: the peak that is counted pass by pass, of
// which a replay may miss some, and the free pieces that the replay finds. It takes about a millisecond. nullopt as of
// reserved_memory(). `counted`: of account_memory().
std::optional<ReservedMemory> reserve_of(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan,
                                         const StageMemory& counted, KnownReplays* known = nullptr);

// Adds to the memory that is counted of each stage what its allocator takes, where free pieces may decide what fits:
// where a third more than the peak does not fit. (Of 495 layouts of LLaMA, of 13 to 65 billion parameters, pieces took
// a twentieth of the peak, and never a quarter.) Of stages with the same blocks on devices of one size the fullest
// stands for all.
void add_reserves(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> stages,
                  std::span<StageMemory> memory, KnownReplays* known = nullptr);

}  // namespace mirfak
