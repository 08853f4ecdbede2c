#pragma once

#include "program/body.hpp"
#include "sharding/partition.hpp"

#include <vector>

namespace mirfak {

// A block's backward pass in two: gradients of inputs, which the stage before waits for, with all that is recomputed;
// and gradients of weights, which nobody waits for before the end of the iteration.

// Of PartitionedBlock::backward, which steps belong to the second.
std::vector<bool> weight_steps(const PartitionedBlock& block);

// The halves of a backward body (PartitionedBlock::recompute, then ::backward), and which of its steps each has.
struct SplitBody {
  Body inputs;
  Body weights;
  std::vector<int> input_steps;
  std::vector<int> weight_steps;
};
// Kernels take as long as in one piece. What waited for a step of the other half waits for what that waited for.
SplitBody split_body(const PartitionedBlock& block, const Body& backward);

}  // namespace mirfak
