#pragma once

#include "sharding/partition.hpp"
#include "strategy/framework.hpp"

namespace mirfak {

// Bytes of activations and their gradients that one device holds while it runs one block for one microbatch.
struct BlockMemory {
  double kept = 0;      // between forward and backward
  double forward = 0;   // the most at any time of the forward pass; `kept` is what is left of it
  double backward = 0;  // the most at any time of recomputation and backward; begins with `kept`
  // Where backward is split in two (split_backward.hpp): what the half of inputs leaves for that of weights, and the
  // most at any time of each; the first begins with `kept`, the second with `due`.
  double due = 0;
  double backward_input = 0;
  double backward_weight = 0;
};

// Walks the block's steps in the order in which they run. A tensor exists from the step that makes it to the last one
// that reads it; what backward reads, or the next block, longer. A collective's buffer exists from there to its kernel.
// Parameters and the buffers that their gradients accumulate in are counted elsewhere. `framework`: what a loss
// holds while it runs.
BlockMemory block_memory(const PartitionedBlock& block, const DeviceMesh& mesh, const Framework& framework,
                         bool split = false);

}  // namespace mirfak
