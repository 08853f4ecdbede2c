#pragma once

#include "schedule/schedule.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// Number of passes of a stage, by chunk.
struct PassCounts {
  std::vector<std::int32_t> forward;
  std::vector<std::int32_t> backward;
};

// Passes of a stage before a chunk's first pass and after its last pass. Collectives that run once an iteration, with
// the first or last pass of the chunk, can be overlapped with these passes.
struct ChunkEdges {
  PassCounts before_first;  // passes before the first forward pass of the chunk
  PassCounts behind_last;   // passes after the last backward pass of the chunk
};

// Returns the edges of each chunk of each stage: [stage][chunk], for a schedule that alternates. A few rounds of
// microbatches represent all rounds, as for fullest_moments().
std::vector<std::vector<ChunkEdges>> chunk_edges(const Schedule& schedule, const PipelineShape& shape);

}  // namespace mirfak
