#pragma once

#include "program/body.hpp"
#include "sharding/partition.hpp"

#include <vector>

namespace mirfak {

// A block's backward pass in two halves. The first makes gradients of inputs, which the stage before waits for, and
// recomputes; the second makes gradients of weights, which nobody waits for before the end of the iteration.

// Marks the steps of PartitionedBlock::backward that belong to the second half.
std::vector<bool> weight_steps(const PartitionedBlock& block);

// The halves of a backward body (PartitionedBlock::recompute, then ::backward), and the indices of each half's steps in
// it.
struct SplitBody {
  Body inputs;
  Body weights;
  std::vector<int> input_steps;
  std::vector<int> weight_steps;
};
// Splits a backward body. Kernels take as long as in one piece. A step that waited for a step of the other half waits
// for the steps that this other step waited for.
SplitBody split_body(const PartitionedBlock& block, const Body& backward);

}  // namespace mirfak
