#pragma once

#include "interpreter/undivided.hpp"
#include "sharding/partition.hpp"

#include <span>

namespace mirfak::interpreter {

// A partitioned block and what it was made of. All must outlive a check.
struct DividedProgram {
  const PartitionedBlock& block;
  const DeviceMesh& mesh;
  const ShardingPlan& plan;
  std::span<const TensorId> dropped;  // not kept for backward
  const Meaning& meaning;             // of block.graph
  // True if gradients of parameters are reduced and stepped on as weight_update() says; else they are sums over the
  // mesh axes of ParameterShard::gradient_partial, as rules leave them.
  bool updates = false;
};

// The sequences that devices have, by the batch norms that run over them; none where the batch is not divided.
SequenceGroups sequence_groups(const OperatorGraph& graph, const DeviceMesh& mesh, const ShardingPlan& plan);

// Counts of the things that a check saw, for tests that want it to have seen some.
struct Proof {
  int kernels = 0;      // on each device
  int collectives = 0;  // each checked for its group and its bytes
  int compared = 0;     // ways in which tensors lay, each compared on every device
};

// Executes the steps of a program on simulated devices, each with its own pieces, forward, recomputation and backward,
// and compares what every device holds with the undivided run (`whole`, which has run forward and backward): every
// tensor in every way it lies, the outputs, the gradients of what enters, and those of parameters, summed as the
// program says at its end. Error(internal) where a device reads what it does not hold, where a collective's bytes,
// group or kind are not what is exchanged, and where numbers differ.
Proof prove(const DividedProgram& program, const Values& whole);

}  // namespace mirfak::interpreter
