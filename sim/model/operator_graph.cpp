#include "model/operator_graph.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

std::string_view name_of(Axis axis) {
  constexpr std::array<std::string_view, kAxes> names = {
      "batch",         "sequence",    "kv_sequence", "hidden",         "kv_heads",         "query_group",
      "qkv_group",     "head_dim",    "ffn",         "gate",           "vocabulary",       "experts",
      "candidates",    "expert_ffn",  "query_rank",  "key_value_rank", "key_value_packed", "position_dim",
      "content_value", "value_dim",   "merged",      "masked",         "transform",        "pair",
      "low_rank",      "divided_rank"};
  return names[static_cast<std::size_t>(axis)];
}

std::string_view name_of(OperatorKind kind) {
  constexpr std::array<std::string_view, 12> names = {"einsum",    "attention", "elementwise", "normalization",
                                                      "softmax",   "gather",    "scatter",     "cross_entropy",
                                                      "reduction", "dispatch",  "combine",     "view"};
  return names[static_cast<std::size_t>(kind)];
}

TensorId OperatorGraph::add_tensor(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(tensors.size() - 1);
}

OperatorId OperatorGraph::add_operator(std::string operator_name, OperatorKind kind, std::span<const TensorId> inputs,
                                       std::span<const TensorId> outputs) {
  const auto operand = [this](TensorId id) { return Operand{id, tensors[static_cast<std::size_t>(id)].axes}; };
  Operator added;
  added.name = std::move(operator_name);
  added.kind = kind;
  std::transform(inputs.begin(), inputs.end(), std::back_inserter(added.inputs), operand);
  std::transform(outputs.begin(), outputs.end(), std::back_inserter(added.outputs), operand);
  operators.push_back(std::move(added));
  return static_cast<OperatorId>(operators.size() - 1);
}

std::int64_t OperatorGraph::elements(TensorId tensor) const {
  std::int64_t count = 1;
  for (const Axis axis : this->tensor(tensor).axes) count *= extent(axis);
  return count;
}

double OperatorGraph::bytes(TensorId tensor) const {
  const Tensor& of = this->tensor(tensor);
  return static_cast<double>(elements(tensor)) * of.density * of.bytes_per_element;
}

EinsumLabels classify_labels(const Operator& einsum) {
  const auto holds = [](const std::vector<Axis>& labels, Axis axis) {
    return std::find(labels.begin(), labels.end(), axis) != labels.end();
  };
  const std::vector<Axis>& left = einsum.inputs[0].labels;
  const std::vector<Axis>& right = einsum.inputs[1].labels;
  const std::vector<Axis>& result = einsum.outputs[0].labels;
  EinsumLabels out;
  for (const Axis axis : left) {
    if (!holds(right, axis)) {
      out.rows.push_back(axis);
    } else if (holds(result, axis)) {
      out.batch.push_back(axis);
    } else {
      out.contracted.push_back(axis);
    }
  }
  for (const Axis axis : right) {
    if (!holds(left, axis)) out.columns.push_back(axis);
  }
  return out;
}

}  // namespace mirfak
