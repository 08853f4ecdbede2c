#pragma once

#include "program/block_memory.hpp"
#include "program/blocks_of_job.hpp"
#include "program/stage_plan.hpp"

#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace mirfak {

// What memory of a device holds, in bytes.
struct MemoryUse {
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;    // kept between forward and backward, of all microbatches in flight
  double workspace = 0;      // of the pass or step that runs: results on their way, recomputed activations, gradients
  double gathered = 0;       // whole parameters and gradients of blocks that are otherwise held as shards (ZeRO 2, 3)
  double communication = 0;  // buffers of transfers between stages
  double platform = 0;       // context, communicators, workspaces of libraries, fragmentation

  double total() const {
    return parameters + gradients + optimizer + activations + workspace + gathered + communication + platform;
  }

  friend bool operator==(const MemoryUse&, const MemoryUse&) = default;
};

// The parts of a MemoryUse with their names, for tables and files.
struct MemoryPart {
  std::string_view name;
  double MemoryUse::*bytes;
};
std::span<const MemoryPart> memory_parts();

// The memory of one rank of a stage.
struct StageMemory {
  MemoryUse peak;            // the moment of the largest total
  int passes_in_flight = 0;  // at the peak: forward passes (of chunks) whose backward pass has not ended
  double capacity = 0;
  double host = 0;           // what it keeps in the memory of its host (optimizer_offload.hpp)
  double host_capacity = 0;  // its share of that

  bool fits() const { return peak.total() <= capacity && host <= host_capacity; }

  friend bool operator==(const StageMemory&, const StageMemory&) = default;
};

// Of a memory of so many bytes those that may be used, where a share of it, the headroom, is kept free.
inline double usable_bytes(double capacity, double headroom) { return capacity * (1 - headroom); }

// How much room some stages leave in the memories of their devices and hosts.
struct MemoryRoom {
  double shortage = -std::numeric_limits<double>::infinity();  // bytes beyond those usable, at most; 0 or less: it fits
  double free = 1;  // the least share of a memory that stays free; below 0: it does not fit without headroom either

  void add(double needed, double capacity, double headroom);
};
MemoryRoom memory_room(std::span<const StageMemory> stages, double headroom);

// Walks each stage's passes in order: a forward pass adds what its chunk keeps, a backward pass frees it, but for what
// the half that makes gradients of weights still needs where it is split, and while one runs it needs its workspace
// beside; both of a pair need theirs. So the factor 1 + (p - 1)/(p v) of interleaving is counted, not assumed. The
// optimizer step comes last: nothing of the passes is left, but gradients in less than fp32 are copied for it.
std::vector<StageMemory> account_memory(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> stages);
// The same with memory_of_blocks(job, blocks) known: `of_blocks`.
std::vector<StageMemory> account_memory(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> stages,
                                        std::span<const BlockMemory> of_blocks);

// What one chunk keeps for one microbatch, and what its passes need beside all of that at most.
struct ChunkMemory {
  double kept = 0;
  double forward = 0;
  double backward = 0;
  // Where backward is split in two: what stays between the halves, and what each needs beside what is kept when it
  // begins.
  double due = 0;
  double backward_input = 0;
  double backward_weight = 0;

  double workspace(Pass::Kind kind) const;
};
// `blocks`: of each BlockId.
ChunkMemory chunk_memory(const Job& job, std::span<const BlockMemory> blocks, const ChunkPlan& chunk);
std::vector<BlockMemory> memory_of_blocks(const Job& job, const ShardedBlocks& blocks);

// What a rank of the stage holds whatever it runs: all but activations and workspace.
MemoryUse resident_memory(const Job& job, const ShardedBlocks& blocks, const StageContents& stage);

}  // namespace mirfak
