#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/axis_rules.hpp"
#include "sharding/sharding.hpp"

#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// The mesh axes that divide each axis of a graph as a label of one operator.
using LabelSharding = InlineList<MeshAxisSet, kMaxAxes>;

// How an operator divides its labels, given what is known of its operands' shardings (nullopt: nothing yet).
// A mesh axis divides one label at most: the first that asks for it, parameters (and their gradients) before
// inputs before outputs. Labels that a kernel needs whole (must_be_whole) are not divided.
LabelSharding divide_labels(const OperatorGraph& graph, const Operator& op,
                            std::span<const std::optional<Sharding>> shardings);

// The sharding that an operand has when the operator divides its labels so.
Sharding operand_sharding(const Operand& operand, const LabelSharding& labels);

// Shardings of all tensors: annotated ones by the rules, forward ones by propagation, gradients as their tensors.
std::vector<Sharding> propagate(const OperatorGraph& graph, std::span<const AxisRule> rules);

}  // namespace mirfak
