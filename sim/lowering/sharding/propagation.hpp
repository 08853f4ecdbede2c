#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/axis_rules.hpp"
#include "sharding/sharding_plan.hpp"

#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// Returns the division of an operator's labels that follows from the known shardings of its operands (nullopt: not
// known yet). A mesh axis divides one label at most: the first label that claims it. Parameters (and their gradients)
// claim before inputs, and inputs before outputs. Labels that a kernel needs whole (must_be_whole) are not divided.
LabelSharding divide_labels(const OperatorGraph& graph, const Operator& op,
                            std::span<const std::optional<Sharding>> shardings);

// True for parameters, their gradients and copies.
bool is_parameter(const OperatorGraph& graph, TensorId id);

// True for operators that impose no sharding: their inputs lie as their outputs.
bool is_pointwise(const Operator& op);

// Replaces the division of an operator's labels where rules on keys and on attention prescribe another one.
void follow_rules(const OperatorGraph& graph, const Operator& op, const DeviceMesh& mesh,
                  std::span<const AxisRule> rules, LabelSharding& labels);

// Returns the shardings of the tensors that rules annotate: parameters, inputs of a block, the residual stream, rows of
// experts.
std::vector<std::optional<Sharding>> annotated_shardings(const OperatorGraph& graph, std::span<const AxisRule> rules);

// Returns the shardings of all tensors: annotated tensors by the rules, other forward tensors by propagation, gradients
// as their tensors.
std::vector<Sharding> propagate(const OperatorGraph& graph, std::span<const AxisRule> rules);
// Returns the shardings of all tensors and the divided labels of each operator. Labels follow from the operands, except
// where a rule on keys or attention prescribes another division. Mesh axes of size 1 need no rule.
ShardingPlan propagate(const OperatorGraph& graph, const DeviceMesh& mesh, std::span<const AxisRule> rules);

}  // namespace mirfak
