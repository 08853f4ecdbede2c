#pragma once

#include "alpa/choice_problem.hpp"
#include "alpa/logical_mesh.hpp"
#include "alpa/sharding_decisions.hpp"
#include "cost/collective_model.hpp"
#include "cost/kernel_model.hpp"
#include "graph/operator_graph.hpp"

#include <vector>

namespace mirfak::alpa {

// Bytes for each element of a trained parameter, in addition to the parameter itself (its format is in its graph).
struct StateBytes {
  double gradient = 2;    // in the buffer that gradients accumulate in
  double reduced = 2;     // in a gradient while it is reduced
  double optimizer = 12;  // master copy and moments
};

// Objective for the shardings of a block, and the conditions of the iteration.
struct PlanOptions {
  DecisionOptions decisions;
  StateBytes state;
  int microbatches = 1;           // in an iteration: gradients are reduced once for all of them
  std::vector<TensorId> dropped;  // activations that are recomputed (plan_activations)
  // Assumes that all devices compute equally long, as the paper does: only communication counts, and operators that
  // decide for themselves are divided over all devices wherever possible. False: kernels are priced.
  bool equal_compute = false;
  // Prices kernels and nevertheless divides operators that decide for themselves over all devices wherever possible, as
  // a strategy does: no device repeats the work of others.
  bool all_devices = false;
};

// Price models of the hardware and the mesh.
struct BlockPrices {
  const KernelModel& kernels;
  const CollectiveModel& collectives;
  const LogicalMesh& mesh;
};

// Returns the choice problem of a block with its gradient operators. The seconds of a choice are those of a microbatch:
//
//   each operator     its kernel, in every pass that runs it (forward, recomputation, backward)
//   each result       the collectives from the sharding that the operator produces to the sharding of the tensor
//   each operand      the collectives from the sharding of the tensor to the one that the operator needs; once for all
//                     operators of a pass
//   each gradient     of a parameter: its reduction and, if the parameter is stepped in shards, the gathering of the
//                     parameter, spread over the microbatches of an iteration
//
// State bytes: parameters, the buffers of their gradients, optimizer state. Activation bytes: tensors kept for
// backward. Memory that a block needs only while it runs is not counted: recomputed activations, resharded copies,
// operands of a kernel.
ChoiceProblem block_problem(const OperatorGraph& graph, const ShardingDecisions& decisions, const BlockPrices& prices,
                            const PlanOptions& options);

// Collectives that bring the gradient of a parameter from the sharding that an operator produces to where it is
// stepped.
struct GradientReduction {
  bool possible = false;  // false: the gradient is divided otherwise than the parameter
  MeshAxisSet scattered;  // axes of the reduce-scatter: those that divide the parameter or its stepped shards
  MeshAxisSet all_reduced;
  MeshAxisSet gathered;  // axes over which the stepped parameter is gathered again
};
GradientReduction gradient_reduction(const Sharding& made, const Sharding& parameter, Reduction reduction);

}  // namespace mirfak::alpa
