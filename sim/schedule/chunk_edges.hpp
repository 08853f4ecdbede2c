#pragma once

#include "schedule/schedule.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// Passes of a stage, counted by chunk.
struct PassCounts {
  std::vector<std::int32_t> forward;
  std::vector<std::int32_t> backward;
};

// Where a chunk begins and ends in the order of its stage: what collectives that run once an iteration beside its first
// or last pass can hide behind.
struct ChunkEdges {
  PassCounts before_first;  // forward pass of the chunk
  PassCounts behind_last;   // backward pass of the chunk
};

// Of each chunk of each stage, of a schedule that alternates. As for fullest_moments(), a few rounds of microbatches
// stand for all.
std::vector<std::vector<ChunkEdges>> chunk_edges(const Schedule& schedule, const PipelineShape& shape);

}  // namespace mirfak
