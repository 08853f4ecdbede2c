#pragma once

#include "program/job.hpp"
#include "program/stage_plan.hpp"

#include <vector>

namespace mirfak {

// Bytes of whole parameters and gradients that come and go with one block of a chunk, for frameworks that gather and
// reduce block by block (FSDP), and bytes of gradients that the framework frees after each optimizer step.
struct UnitMemory {
  double forward = 0;    // whole parameters while the block runs forward: its own, the next one's, and those kept
  double backward = 0;   // whole parameters while the block runs backward
  double reduced = 0;    // gradients in reduction: its own, and a buffer of its size or of the previous block's
  double gradients = 0;  // gradients that its backward pass leaves
};

// Memory of every block of the chunk, in forward order; empty if nothing comes and goes. `width`: bytes of an element
// on the wire (StageParameters::gathered_bytes_per_element).
std::vector<UnitMemory> unit_memory(const Job& job, const ChunkPlan& chunk, double width);

// True if parameters are gathered by blocks, so that unit_memory() counts them; else sharded_state() does.
bool gathers_by_blocks(const Job& job);

// True if gradients do not exist before the only backward pass of an iteration begins. If several backward passes
// accumulate gradients, all gradients exist from the second pass on, and in a pipeline while other chunks run: in these
// cases they are counted as always existing.
bool gradients_come_and_go(const Job& job);

}  // namespace mirfak
