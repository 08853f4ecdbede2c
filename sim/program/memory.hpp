#pragma once

#include "program/blocks_of_job.hpp"
#include "program/stage_plan.hpp"

#include <array>
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
  double workspace = 0;      // backward only: recomputed activations of a block and gradients of activations
  double gathered = 0;       // whole parameters and gradients of blocks that are otherwise held as shards (ZeRO 2, 3)
  double communication = 0;  // buffers of transfers between stages
  double platform = 0;       // context, communicators, workspaces of libraries, fragmentation

  double total() const {
    return parameters + gradients + optimizer + activations + workspace + gathered + communication + platform;
  }
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

  bool fits() const { return peak.total() <= capacity; }
};

// Walks each stage's passes in order: a forward pass adds what its chunk keeps, a backward pass uses its workspace
// and then frees it. So the factor 1 + (p - 1)/(p v) of interleaving is counted, not assumed.
std::vector<StageMemory> account_memory(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> stages);

// What one chunk keeps for one microbatch, and what its backward pass needs beside.
struct ChunkMemory {
  double kept = 0;
  double workspace = 0;
};
ChunkMemory chunk_memory(const ShardedBlocks& blocks, const DeviceMesh& mesh, const ChunkPlan& chunk);

// What a rank of the stage holds whatever it runs: all but activations and workspace.
MemoryUse resident_memory(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan);

}  // namespace mirfak
