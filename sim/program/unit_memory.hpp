#pragma once

#include "program/job.hpp"
#include "program/stage_plan.hpp"

#include <vector>

namespace mirfak {

// Bytes of whole parameters and gradients that come and go with one block of a chunk, where the framework gathers and
// reduces block by block (FSDP), and of gradients that it frees behind each optimizer step.
struct UnitMemory {
  double forward = 0;    // whole parameters while the block runs forward: its own, the next one's, and what is kept
  double backward = 0;   // ... backward
  double reduced = 0;    // gradients on their way: its own, and a buffer of its own or of the block that ran before
  double gradients = 0;  // that its backward pass leaves
};

// Of every block of the chunk, in forward order; empty where nothing comes and goes. `width`: bytes of an element on
// the wire (StageParameters::gathered_bytes_per_element).
std::vector<UnitMemory> unit_memory(const Job& job, const ChunkPlan& chunk, double width);

// Whether parameters are gathered by blocks, so that unit_memory() has them; else sharded_state() does.
bool gathers_by_blocks(const Job& job);

// Whether gradients do not exist before the only backward pass of an iteration begins. Where several accumulate, they
// are all there from the second on, and in a pipeline while other chunks run: these are counted as always there.
bool gradients_come_and_go(const Job& job);

}  // namespace mirfak
