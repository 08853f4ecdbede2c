#pragma once

#include "graph/backward.hpp"
#include "graph/operator_graph.hpp"
#include "sharding/axis_rules.hpp"
#include "sharding/sharding_plan.hpp"

#include <memory>
#include <span>
#include <vector>

namespace mirfak {

// One step of a device's work in a block: an operator on the device's pieces, or a collective.
struct BlockStep {
  enum class Kind : std::uint8_t { kernel, collective };
  Kind kind{};
  OperatorId op = -1;  // the operator; for a collective, the operator that needs or makes the tensor
  Phase phase{};
  AxisExtents local;     // kernel: extents of the operator's labels on one device
  LabelSharding labels;  // kernel: mesh axes that divide the labels (for a piece of a ring: of all pieces together)
  int piece = 0;         // kernel: index of this kernel among the `pieces` kernels that make up the operator
  int pieces = 1;  // kernel: more than 1 if some operands arrive in pieces round a ring; each piece adds its results to
                   // the earlier ones
  CollectiveKind collective{};  // collective: kind, mesh axes and size (see ReshardStep)
  MeshAxisSet over;
  double bytes = 0;
  TensorId tensor = -1;  // collective: the tensor, and its shardings before (`from`) and after (`to`)
  Sharding from;  // a shift leaves the sharding as it is; where `from` is divided further than the step before left the
  Sharding to;    // tensor, each device takes its slice first
  std::vector<int> after;  // steps of the same list that must have ended
};

inline double extent(const BlockStep& step, Axis axis) { return static_cast<double>(step.local[index_of(axis)]); }

BlockStep collective_step(const ReshardStep& collective, OperatorId op, Phase phase, TensorId tensor);

// A gradient of a parameter as a backward pass leaves it, and the last operator that wrote the gradient.
struct GradientLeft {
  TensorId tensor = -1;
  OperatorId made_by = -1;
  Sharding made;
};

// The part of a parameter that one device holds, and the mesh axes over which the gradient is still a partial sum after
// a backward pass: the reductions that are due once per iteration.
struct ParameterShard {
  TensorId tensor = -1;
  double elements = 0;
  MeshAxisSet gradient_partial;
  // Gradients of the parameter, one for each sharding: gradients from several readers of the parameter that lie alike
  // have already been added. Empty if the parameter has no gradient.
  std::vector<GradientLeft> gradients;
};

// A block as one device of the mesh executes it.
struct PartitionedBlock {
  OperatorGraph graph;  // with gradient operators
  std::vector<BlockStep> forward;
  std::vector<BlockStep> recompute;
  std::vector<BlockStep> backward;
  std::vector<BlockStep> update;  // once an iteration, after the optimizer step
  std::vector<ParameterShard> parameters;
  std::vector<Sharding> shardings;  // by TensorId, for every tensor of the graph
  std::vector<TensorId> kept;       // tensors kept between forward and backward
  double kept_bytes = 0;            // on one device
  double recomputed_bytes = 0;      // activations that exist during backward only
  double parameter_bytes = 0;       // on one device, in the storage format of the parameters
  double parameter_copy_bytes = 0;  // on one device, copies in other formats
  double residual_bytes = 0;        // the block's output (or input) on one device, which pipeline stages exchange
  // The block for one of the equal parts of a microbatch that run at once (Strategy::nanobatches): passes consist of
  // the steps of these parts. Null: passes consist of the steps above.
  std::shared_ptr<const PartitionedBlock> part;
};

// Shards `graph` (forward and gradient operators) over `mesh` by `rules`, as GSPMD (arXiv 2105.04663) does:
//  1. Rules annotate parameters and the residual stream.
//  2. Shardings propagate over operators, forward and backward, elementwise operators first.
//  3. A gradient is sharded as its tensor.
//  4. Each operator divides its own labels: first by the shardings of its parameters (parameters do not move), then by
//     those of its inputs. Operands that lie differently are resharded; divided contracted labels leave partial sums;
//     every tensor is brought to its own sharding at once; partial gradients of parameters wait for the end of the
//     iteration.
//  5. Rules on attention: if keys stay divided, the kernel runs in as many pieces as there are devices, and keys and
//     values (in the gradient operator also their gradients) shift to the next device in parallel with the kernels.
//  6. If a plan divides a windowed axis as its steps, devices shift the rows at the edges of their parts to their
//     neighbors before the operator reads these rows, or after a gradient operator added to them.
// `dropped`: tensors not kept for backward (see plan_activations). `sums`: decides if the gradients that several
// products compute for one tensor are reduced one by one over the devices, or added first.
enum class GradientSums { behind_reducing, before_reducing };
// Runs steps 4 to 6 for a given plan, which states the shardings of tensors and the divided labels of operators. Only
// `rules` on attention and on products are used: they decide which tensors backward keeps as attention used them, and
// which products run in pieces.
PartitionedBlock partition(OperatorGraph graph, const DeviceMesh& mesh, const ShardingPlan& plan,
                           std::span<const AxisRule> rules, std::span<const TensorId> dropped,
                           GradientSums sums = GradientSums::behind_reducing);
// Runs all steps.
PartitionedBlock partition(OperatorGraph graph, const DeviceMesh& mesh, std::span<const AxisRule> rules,
                           std::span<const TensorId> dropped, GradientSums sums = GradientSums::behind_reducing);

}  // namespace mirfak
