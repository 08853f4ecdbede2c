#pragma once

#include "sharding/partition.hpp"
#include "strategy/framework.hpp"

#include <vector>

namespace mirfak {

// Bytes of activations and their gradients that one device holds while it runs one block for one microbatch.
struct BlockMemory {
  double kept = 0;      // held between forward and backward
  double on_host = 0;   // held in the host's memory meanwhile, in place of the device's (offloaded_tensors.hpp)
  double stashed = 0;   // held in pages meanwhile: bytes of evenly chosen experts' rows (expert_room.hpp)
  double buffers = 0;   // of such rows: the buffers that they come from and go back to, in `forward` and `backward`
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

// A tensor that comes or goes while a block runs, or a buffer that a single step needs.
struct Allocation {
  static constexpr TensorId kBuffer = -1;  // comes and goes at once

  TensorId tensor = kBuffer;
  double bytes = 0;  // 0: the tensor goes
  double most = 0;   // for buffers: bytes of the largest of the tensors that a buffer consists of
};

// The same walk as a sequence: what one block asks an allocator for, for one microbatch. Tensors that exist at a
// beginning, or come, and do not go are left at the end. Lists of inputs and of outputs are in the order of the
// graph's; a tensor of -1 does not exist.
struct BlockAllocations {
  std::vector<Allocation> inputs;  // exist when `forward` begins
  std::vector<TensorId> outputs;   // left by `forward` for the next block
  std::vector<Allocation> forward;
  std::vector<TensorId> kept;                // left by `forward` for `backward`, in any order
  std::vector<Allocation> output_gradients;  // exist when `backward` begins, in addition to `kept`
  std::vector<TensorId> input_gradients;     // left by `backward` for the block before
  std::vector<Allocation> backward;          // with what is recomputed
};
BlockAllocations block_allocations(const PartitionedBlock& block, const DeviceMesh& mesh, const Framework& framework);

}  // namespace mirfak
