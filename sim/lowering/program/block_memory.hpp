#pragma once

#include "sharding/partition.hpp"
#include "strategy/framework.hpp"

namespace mirfak {

// Bytes of activations and their gradients that one device holds while it runs one block for one microbatch.
struct BlockMemory {
  double kept = 0;      // held between forward and backward
  double forward = 0;   // largest amount at any time of the forward pass, which leaves `kept`
  double backward = 0;  // largest amount at any time of recomputation and backward, which begin with `kept`
  // Bytes that the half for inputs leaves for the half for weights, where backward is split in two
  // (split_backward.hpp), and the largest amount at any time of each half: the first begins with `kept`, the second
  // with `due`.
  double due = 0;
  double backward_input = 0;
  double backward_weight = 0;
};

// Walks the block's steps in the order in which they run. A tensor exists from the step that makes it to the last step
// that reads it; a tensor that backward or the next block reads exists longer. A collective's buffer exists from the
// collective to the collective's kernel. Parameters and the buffers that their gradients accumulate in are counted
// elsewhere. `framework`: gives the bytes that a loss holds while it runs.
BlockMemory block_memory(const PartitionedBlock& block, const DeviceMesh& mesh, const Framework& framework,
                         bool split = false);

}  // namespace mirfak
