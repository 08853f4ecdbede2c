#pragma once

#include "graph/backward.hpp"
#include "graph/operator_graph.hpp"
#include "sharding/axis_rules.hpp"
#include "sharding/sharding_plan.hpp"

#include <span>
#include <vector>

namespace mirfak {

// One step of a device's work in a block: an operator on the device's pieces, or a collective.
struct BlockStep {
  enum class Kind : std::uint8_t { kernel, collective };
  Kind kind{};
  OperatorId op = -1;  // the operator; of a collective, the one that needs or makes the tensor
  Phase phase{};
  AxisExtents local;            // kernel: extents of the operator's labels on one device
  LabelSharding labels;         // kernel: how it divides them (a piece of a ring: all pieces together)
  int piece = 0;                // kernel: which of `pieces` kernels that make up the operator, when some operands
  int pieces = 1;               // ... come piece by piece round a ring. Each adds its results to the earlier ones'.
  CollectiveKind collective{};  // collective: what, over which mesh axes, how many bytes (see ReshardStep)
  MeshAxisSet over;
  double bytes = 0;
  TensorId tensor = -1;  // collective: of what, and how that lies before and behind it (a shift leaves it as it lies).
  Sharding from;         // Where `from` is divided further than the step before left the tensor, each device takes
  Sharding to;           // its slice.
  std::vector<int> after;  // steps of the same list that must have ended
};

inline double extent(const BlockStep& step, Axis axis) { return static_cast<double>(step.local[index_of(axis)]); }

BlockStep collective_step(const ReshardStep& collective, OperatorId op, Phase phase, TensorId tensor);

// A gradient of a parameter as a backward pass leaves it, and the last operator that wrote it.
struct GradientLeft {
  TensorId tensor = -1;
  OperatorId made_by = -1;
  Sharding made;
};

// What one device holds of a parameter, and where its gradient is still a partial sum after a backward pass:
// the reductions that are due once per iteration.
struct ParameterShard {
  TensorId tensor = -1;
  double elements = 0;
  MeshAxisSet gradient_partial;
  // Of a parameter that several operators read, the gradients that are not alike each stand for themselves: those that
  // are have been added up. Of a parameter without a gradient, nothing.
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
  std::vector<Sharding> shardings;  // of every tensor of the graph
  std::vector<TensorId> kept;       // between forward and backward
  double kept_bytes = 0;            // on one device
  double recomputed_bytes = 0;      // activations that exist during backward only
  double parameter_bytes = 0;       // on one device, in the format that they are kept in
  double parameter_copy_bytes = 0;  // of copies in other formats
  double residual_bytes = 0;        // the block's output (or input) on one device: what pipeline stages exchange
};

// Shards `graph` (forward and gradient operators) over `mesh` by `rules`, as GSPMD (arXiv 2105.04663) does:
//  1. parameters and the residual stream are annotated by the rules;
//  2. shardings propagate over operators, forward and backward, elementwise operators first;
//  3. a gradient is sharded as its tensor;
//  4. each operator divides its own labels: what a parameter's sharding says first (parameters do not move), then
//     its inputs; operands that lie otherwise are resharded, contracted labels that are divided leave partial
//     sums, and every tensor is brought to its own sharding at once; partial gradients of parameters wait for the
//     end of the iteration;
//  5. rules on attention: where keys stay divided, the kernel runs in as many pieces as there are devices while keys
//     and values (in the gradient operator their gradients too) shift to the next device beside it.
//  6. where a plan divides a windowed axis as its steps, devices shift the rows at the edges of their parts to their
//     neighbours before the operator reads them, or behind a gradient that added to them.
// `dropped`: tensors not kept for backward (see plan_activations). `sums`: whether the gradients that several products
// find for a tensor are each reduced over the devices that hold a part, or added first.
enum class GradientSums { behind_reducing, before_reducing };
// Steps 4 and 5 for any plan: how tensors lie and operators divide their labels is given. Of `rules`, only those on
// attention and on products are asked: what backward keeps as attention used it, and which products run in pieces.
PartitionedBlock partition(OperatorGraph graph, const DeviceMesh& mesh, const ShardingPlan& plan,
                           std::span<const AxisRule> rules, std::span<const TensorId> dropped,
                           GradientSums sums = GradientSums::behind_reducing);
// All steps.
PartitionedBlock partition(OperatorGraph graph, const DeviceMesh& mesh, std::span<const AxisRule> rules,
                           std::span<const TensorId> dropped, GradientSums sums = GradientSums::behind_reducing);

}  // namespace mirfak
