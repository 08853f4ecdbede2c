#pragma once

#include "program/block_memory.hpp"
#include "program/blocks_of_job.hpp"
#include "program/memory_limit.hpp"
#include "program/stage_plan.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace mirfak {

// Contents of a device's memory, in bytes.
struct MemoryUse {
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;    // kept between forward and backward, for all microbatches in flight
  double workspace = 0;      // for the running pass or step: results on their way, recomputed activations, gradients
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

// Memory of one rank as PyTorch's caching allocator has it (caching_allocator.hpp), in bytes: without what lies beside
// the allocator (MemoryUse::platform).
struct ReservedMemory {
  double allocated = 0;  // blocks in use at the fullest moment
  double reserved = 0;   // segments taken from the device, the most at any time
  double needed = 0;     // the least that a device must have: free pieces between blocks in use cannot go back to it
  double capacity = 0;   // bytes that the allocator can take

  double cached() const { return std::max(0.0, reserved - allocated); }
  double pieces() const { return std::max(0.0, needed - allocated); }
  bool runs_out() const { return needed > capacity; }

  friend bool operator==(const ReservedMemory&, const ReservedMemory&) = default;
};

// The memory of one rank of a stage.
struct StageMemory {
  MemoryUse peak;            // contents at the moment of the largest total
  int passes_in_flight = 0;  // at the peak: forward passes (of chunks) whose backward pass has not ended
  double capacity = 0;
  double host = 0;           // bytes that the rank keeps in the memory of its host (optimizer_offload.hpp)
  double host_capacity = 0;  // the rank's share of the host's memory
  double disk = 0;           // bytes that the rank keeps on the disks of its host
  std::optional<ReservedMemory> allocator;  // where it may decide what fits (add_reserves(), reserved_memory.hpp)

  double needed() const { return peak.total() + (allocator ? allocator->pieces() : 0); }
  bool fits() const { return peak.total() <= capacity && host <= host_capacity; }

  friend bool operator==(const StageMemory&, const StageMemory&) = default;
};

// Room that some stages leave in the memories of their devices and hosts.
struct MemoryRoom {
  double shortage = -std::numeric_limits<double>::infinity();  // most bytes beyond the usable ones; 0 or less: all fits
  double free = 1;  // smallest share of a memory that stays free; below 0: it does not fit without headroom either
  // The device or host with this shortage; a platform is only of devices.
  struct Fullest {
    double needed = 0;
    double platform = 0;
    double capacity = 0;
    bool of_host = false;
  };
  Fullest fullest;

  // `platform`: the bytes among those needed that software takes whatever the model.
  void add_device(double needed, double platform, double capacity, const MemoryLimit& limit);
  void add_host(double needed, double capacity, const MemoryLimit& limit);

 private:
  void add(const Fullest& memory, double usable);
};
// Returns the bytes that a stage needs of its device under a limit. Pieces between blocks count where the limit is one
// of probability.
double needed_bytes(const StageMemory& stage, const MemoryLimit& limit);
MemoryRoom memory_room(std::span<const StageMemory> stages, const MemoryLimit& limit);

// Walks each stage's passes in order. A forward pass adds the bytes that its chunk keeps; a backward pass frees them,
// except for those that the half for gradients of weights still needs where the pass is split. A running pass needs its
// workspace in addition; both passes of a pair need theirs. So the factor 1 + (p - 1)/(p v) of interleaving is counted,
// not assumed. The optimizer step comes last: nothing of the passes is left, but gradients in less than fp32 are copied
// for it.
std::vector<StageMemory> account_memory(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> stages);
// Accounts memory with memory_of_blocks(job, blocks) known: `of_blocks`.
std::vector<StageMemory> account_memory(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> stages,
                                        std::span<const BlockMemory> of_blocks);

// Bytes at the fullest moment of a pass, in addition to those that its chunk keeps.
struct PassMemory {
  double workspace = 0;  // below 0: bytes kept by the chunk that are already freed
  double gathered = 0;   // whole parameters and gradients of blocks that come and go (unit_memory.hpp)
  double missing = 0;    // gradients of the chunk that do not exist yet

  double bytes() const { return workspace + gathered - missing; }
};

// Bytes that one chunk keeps for one microbatch, and the most that its passes need in addition.
struct ChunkMemory {
  double kept = 0;
  double on_host = 0;  // kept in the memory of the host instead
  double stashed = 0;  // kept in pages instead, of evenly chosen experts (BlockMemory::stashed)
  PassMemory forward;
  PassMemory backward;
  // Bytes that stay between the halves of a split backward pass, and bytes that each half needs in addition to those
  // kept when it begins.
  double due = 0;
  PassMemory backward_input;
  PassMemory backward_weight;
  double gradients = 0;  // gradients that appear with the chunk's backward pass and disappear with the optimizer step

  const PassMemory& of(Pass::Kind kind) const;
  double made() const { return gradients - backward.missing; }  // gradients at the fullest moment of the backward pass
};
// Adds the bytes that a pass of the chunk needs at its fullest moment to those held as the pass begins.
void add_pass(MemoryUse& use, const ChunkMemory& chunk, Pass::Kind kind);
// `blocks`: indexed by BlockId. `width`: StageParameters::gathered_bytes_per_element.
ChunkMemory chunk_memory(const Job& job, std::span<const BlockMemory> blocks, const ChunkPlan& chunk, double width);
std::vector<BlockMemory> memory_of_blocks(const Job& job, const ShardedBlocks& blocks);

// Most bytes of rows that pages hold at a time, of evenly chosen experts, over these passes of a stage.
double most_stashed(std::span<const ChunkMemory> chunks, std::span<const Pass> order);

// Bytes that a rank of the stage holds in all passes: everything except activations and workspace. All gradients count.
MemoryUse resident_memory(const Job& job, const ShardedBlocks& blocks, const StageContents& stage);
// Resident memory as an iteration begins: without the gradients that come and go.
MemoryUse memory_at_rest(MemoryUse resident, std::span<const ChunkMemory> chunks);

}  // namespace mirfak
