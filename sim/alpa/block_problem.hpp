#pragma once

#include "alpa/choice_problem.hpp"
#include "alpa/logical_mesh.hpp"
#include "alpa/sharding_decisions.hpp"
#include "cost/collective_model.hpp"
#include "cost/kernel_model.hpp"
#include "graph/operator_graph.hpp"

#include <vector>

namespace mirfak::alpa {

// Bytes for each element of a trained parameter beside the parameter itself (whose format its graph says).
struct StateBytes {
  double gradient = 2;    // of the buffer that gradients accumulate in
  double reduced = 2;     // of a gradient while it is reduced
  double optimizer = 12;  // master copy and moments
};

// What the choice of shardings of a block is to minimize, and for whom.
struct PlanOptions {
  DecisionOptions decisions;
  StateBytes state;
  int microbatches = 1;           // of an iteration: gradients are reduced once for all of them
  std::vector<TensorId> dropped;  // activations that are recomputed (plan_activations)
  // All devices are taken to compute equally long, as the paper has it: only communication counts, and operators that
  // decide for themselves are divided over all devices wherever they can be. False: kernels are priced.
  bool equal_compute = false;
  // Kernels are priced, and operators that decide for themselves are divided over all devices wherever they can be all
  // the same: what a strategy does, which has no devices that repeat the work of others.
  bool all_devices = false;
};

// Of what hardware.
struct BlockPrices {
  const KernelModel& kernels;
  const CollectiveModel& collectives;
  const LogicalMesh& mesh;
};

// The choice problem of a block with its gradient operators. The seconds of a choice are those of a microbatch:
//
//   each operator     its kernel, in every pass that runs it (forward, recomputation, backward)
//   each result       the collectives from how the operator leaves it to how it lies
//   each operand      those from how it lies to how the operator wants it; once for all operators of a pass
//   each gradient     of a parameter: its reduction, and where it is stepped in shards the gathering of the parameter,
//                     over the microbatches of an iteration
//
// State: parameters, the buffers of their gradients, optimizer state. Activations: what is kept for backward. What one
// block needs while it runs is not counted: recomputed activations, resharded copies, operands of a kernel.
ChoiceProblem block_problem(const OperatorGraph& graph, const ShardingDecisions& decisions, const BlockPrices& prices,
                            const PlanOptions& options);

// How the gradient of a parameter that lies so is brought from how an operator leaves it to where it is stepped.
struct GradientReduction {
  bool possible = false;  // false: it is divided otherwise than the parameter
  MeshAxisSet scattered;  // over which it is reduce-scattered: where the parameter is divided, and where it is
                          // stepped in shards
  MeshAxisSet all_reduced;
  MeshAxisSet gathered;  // over which the stepped parameter is gathered again
};
GradientReduction gradient_reduction(const Sharding& made, const Sharding& parameter, Reduction reduction);

}  // namespace mirfak::alpa
