#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/sharding.hpp"

#include <vector>

namespace mirfak {

// The mesh axes that divide each axis of a graph as a label of one operator.
using LabelSharding = InlineList<MeshAxisSet, kMaxAxes>;

// Layout of a whole graph on a mesh, independent of its origin (rules, annotations, a solver). partition.hpp lowers the
// plan; collectives follow wherever a tensor lies otherwise than an operator divides its labels.
struct ShardingPlan {
  std::vector<Sharding> tensors;         // by TensorId: sharding of each tensor once it is made, without partial sums
  std::vector<LabelSharding> operators;  // by OperatorId: the operator's divided labels, one entry for each axis
  // True if the plan is lowered as a compiler does it: devices exchange the rows at the edges of windowed axes that
  // operators divide (halo.hpp), and tensors move by the cheapest sequence of collectives. The layers of frameworks,
  // which rules represent, ignore such edges or hold the axis whole, and move one mesh axis after the other.
  bool by_compiler = false;
};

// Returns the sharding that an operand needs for this division of its operator's labels.
Sharding operand_sharding(const Operand& operand, const LabelSharding& labels);

// Returns the sharding in which an operator leaves a result: divided as the operator's labels, and a partial sum over
// mesh axes that divide labels of inputs that the result does not have.
Sharding result_sharding(const Operator& op, const Operand& output, const LabelSharding& labels);

}  // namespace mirfak
