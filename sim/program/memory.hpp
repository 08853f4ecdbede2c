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

// What is there at the fullest moment of a pass, beside what its chunk keeps.
struct PassMemory {
  double workspace = 0;  // below 0: so much of what its chunk keeps is gone by then
  double gathered = 0;   // whole parameters and gradients of blocks that come and go (unit_memory.hpp)
  double missing = 0;    // gradients of the chunk that do not exist yet

  double bytes() const { return workspace + gathered - missing; }
};

// What one chunk keeps for one microbatch, and what its passes need beside all of that at most.
struct ChunkMemory {
  double kept = 0;
  PassMemory forward;
  PassMemory backward;
  // Where backward is split in two: what stays between the halves, and what each needs beside what is kept when it
  // begins.
  double due = 0;
  PassMemory backward_input;
  PassMemory backward_weight;
  double gradients = 0;  // that come with its backward pass and go with the optimizer step

  const PassMemory& of(Pass::Kind kind) const;
  double made() const { return gradients - backward.missing; }  // of these, at the fullest moment of the backward pass
};
// Adds what a pass of the chunk needs to what is held as it begins: the fullest moment of it.
void add_pass(MemoryUse& use, const ChunkMemory& chunk, Pass::Kind kind);
// `blocks`: of each BlockId. `width`: StageParameters::gathered_bytes_per_element.
ChunkMemory chunk_memory(const Job& job, std::span<const BlockMemory> blocks, const ChunkPlan& chunk, double width);
std::vector<BlockMemory> memory_of_blocks(const Job& job, const ShardedBlocks& blocks);

// What a rank of the stage holds whatever it runs: all but activations and workspace. With all gradients.
MemoryUse resident_memory(const Job& job, const ShardedBlocks& blocks, const StageContents& stage);
// ... as an iteration begins, without those gradients that come and go.
MemoryUse memory_at_rest(MemoryUse resident, std::span<const ChunkMemory> chunks);

}  // namespace mirfak
