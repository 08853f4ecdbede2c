#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/axis_rules.hpp"
#include "sharding/sharding_plan.hpp"

#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// How an operator divides its labels, given what is known of its operands' shardings (nullopt: nothing yet).
// A mesh axis divides one label at most: the first that asks for it, parameters (and their gradients) before
// inputs before outputs. Labels that a kernel needs whole (must_be_whole) are not divided.
LabelSharding divide_labels(const OperatorGraph& graph, const Operator& op,
                            std::span<const std::optional<Sharding>> shardings);

// Operators that force nothing: what enters them lies as what leaves.
bool is_pointwise(const Operator& op);

// What rules on keys and on attention replace of what an operator would do with its labels.
void follow_rules(const OperatorGraph& graph, const Operator& op, const DeviceMesh& mesh,
                  std::span<const AxisRule> rules, LabelSharding& labels);

// The shardings of the tensors that rules are about: parameters, what enters a block, the residual stream, rows of
// experts.
std::vector<std::optional<Sharding>> annotated_shardings(const OperatorGraph& graph, std::span<const AxisRule> rules);

// Shardings of all tensors: annotated ones by the rules, forward ones by propagation, gradients as their tensors.
std::vector<Sharding> propagate(const OperatorGraph& graph, std::span<const AxisRule> rules);
// And how each operator divides its labels then: by its operands, where no rule on keys or attention says otherwise.
// Mesh axes of size 1 need no rule.
ShardingPlan propagate(const OperatorGraph& graph, const DeviceMesh& mesh, std::span<const AxisRule> rules);

}  // namespace mirfak
