#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/sharding.hpp"

#include <vector>

namespace mirfak {

// The mesh axes that divide each axis of a graph as a label of one operator.
using LabelSharding = InlineList<MeshAxisSet, kMaxAxes>;

// All that is to say of how a graph lies on a mesh: who decided it (rules, annotations, a solver) no longer matters.
// partition.hpp lowers it; collectives follow wherever a tensor lies otherwise than an operator divides its labels.
struct ShardingPlan {
  std::vector<Sharding> tensors;         // by TensorId: how each lies once it is made; nothing partial
  std::vector<LabelSharding> operators;  // by OperatorId: how each divides its labels, one entry for each axis
  // Lowered as a compiler does it: devices exchange the rows at the edges of windowed axes that operators divide
  // (halo.hpp), and tensors move by the cheapest sequence of collectives. The layers of frameworks, which rules stand
  // for, neglect such edges, or have the axis whole, and move one mesh axis after the other.
  bool by_compiler = false;
};

// The sharding that an operand has when its operator divides its labels so.
Sharding operand_sharding(const Operand& operand, const LabelSharding& labels);

// How an operator leaves a result: divided as its labels are, and a partial sum over whatever divides labels of its
// inputs that the result has not.
Sharding result_sharding(const Operator& op, const Operand& output, const LabelSharding& labels);

}  // namespace mirfak
