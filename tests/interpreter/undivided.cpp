#include "undivided.hpp"

#include <algorithm>
#include <set>

namespace mirfak::interpreter {

namespace {

// The number of places in a table along an axis, where a tensor has such (whole numbers, below this). 0: not whole.
std::int64_t places_in(const OperatorGraph& graph, TensorId id) {
  for (const Operator& op : graph.operators) {
    if (op.phase != Phase::forward || op.inputs.size() < 2 || op.inputs[1].tensor != id) continue;
    if (op.kind == OperatorKind::gather) return graph.extent(op.over[0]);
    if (op.kind != OperatorKind::cross_entropy) continue;
    for (const Axis label : op.inputs[0].labels) {
      if (!op.outputs[0].labels.contains(label)) return graph.extent(label);
    }
  }
  return 0;
}

// Numbers around zero, as large as keeps sums of some of them near one.
Piece numbers(const OperatorGraph& graph, TensorId id) {
  Piece out(whole_box(graph, id));
  const std::int64_t places = places_in(graph, id);
  const Tensor& tensor = graph.tensor(id);
  for (Eigen::Index i = 0; i < out.values.size(); ++i) {
    const double chance = noise(tensor.name, static_cast<std::uint64_t>(i));
    const bool vector = tensor.axes.size() < 2 && tensor.role == TensorRole::parameter;
    out.values[i] = places > 0 ? static_cast<double>(static_cast<std::int64_t>(chance * static_cast<double>(places)))
                    : vector   ? 0.5 + chance
                               : 2 * chance - 1;
  }
  return out;
}

std::set<TensorId> made_by_operators(const OperatorGraph& graph) {
  std::set<TensorId> out;
  for (const Operator& op : graph.operators) {
    for (const Operand& output : op.outputs) out.insert(output.tensor);
  }
  return out;
}

Piece zeros_of(const OperatorGraph& graph, TensorId id) { return Piece(whole_box(graph, id)); }

}  // namespace

std::vector<TensorId> entering_gradients(const OperatorGraph& graph) {
  const std::set<TensorId> made = made_by_operators(graph);
  std::vector<TensorId> out;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const auto tensor = static_cast<TensorId>(id);
    if (graph.tensors[id].role == TensorRole::gradient && !made.contains(tensor)) out.push_back(tensor);
  }
  return out;
}

Values entering_values(const OperatorGraph& graph) {
  Values out(graph.tensors.size());
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const TensorRole role = graph.tensors[id].role;
    const auto tensor = static_cast<TensorId>(id);
    if (role == TensorRole::input || role == TensorRole::parameter) out[id] = numbers(graph, tensor);
    // The buffer of an iteration is zero before its first microbatch.
    if (role == TensorRole::parameter_gradient) out[id] = zeros_of(graph, tensor);
  }
  for (const TensorId id : entering_gradients(graph)) out[static_cast<std::size_t>(id)] = numbers(graph, id);
  return out;
}

namespace {

std::optional<Axis> sequences_of(const OperatorGraph& graph) {
  for (std::size_t axis = 0; axis < graph.axes.size(); ++axis) {
    if (graph.axes[axis].divided_by == Parallelism::data) return static_cast<Axis>(axis);
  }
  return std::nullopt;
}

// Group by group: each has results of its own, or a part of a sum.
std::vector<Piece> run_in_groups(const OperatorGraph& graph, const Meaning& meaning, OperatorId id, Ranges ranges,
                                 const Pieces& inputs, const std::vector<Places>& groups) {
  const Operator& op = graph.op(id);
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  for (const Places& group : groups) {
    ranges[index_of(*sequences_of(graph))] = group;
    const std::vector<Piece> made = meaning.run(id, ranges, inputs);
    for (std::size_t i = 0; i < made.size(); ++i) out[i].add(made[i]);
  }
  return out;
}

Values run_all(const OperatorGraph& graph, const Meaning& meaning, Values values, bool forward_only,
               const SequenceGroups& groups) {
  const Ranges ranges = whole_ranges(graph);
  for (std::size_t id = 0; id < graph.operators.size(); ++id) {
    const Operator& op = graph.operators[id];
    if (forward_only && op.phase != Phase::forward) break;
    Pieces inputs;
    std::vector<Operand> operands = op.inputs;
    const std::vector<Operand> parameters = meaning.parameters_of(static_cast<OperatorId>(id));
    operands.insert(operands.end(), parameters.begin(), parameters.end());
    for (const Operand& operand : operands) inputs.push_back(&values[static_cast<std::size_t>(operand.tensor)].value());
    const auto own = groups.find(static_cast<OperatorId>(id));
    std::vector<Piece> made = own != groups.end()
                                  ? run_in_groups(graph, meaning, own->first, ranges, inputs, own->second)
                                  : meaning.run(static_cast<OperatorId>(id), ranges, inputs);
    if (meaning.must_be_finished(static_cast<OperatorId>(id))) finish_cross_entropy(graph, op, ranges, made);
    for (std::size_t i = 0; i < made.size(); ++i) {
      values[static_cast<std::size_t>(op.outputs[i].tensor)] = std::move(made[i]);
    }
  }
  return values;
}

}  // namespace

Values run(const OperatorGraph& graph, const Meaning& meaning, Values values, bool forward_only) {
  return run_all(graph, meaning, std::move(values), forward_only, {});
}

Values run(const OperatorGraph& graph, const Meaning& meaning, Values values, const SequenceGroups& groups) {
  return run_all(graph, meaning, std::move(values), false, groups);
}

bool is_batch_norm(const OperatorGraph& graph, OperatorId id) {
  const OperatorId forward = graph.op(id).gradient_of >= 0 ? graph.op(id).gradient_of : id;
  return graph.op(forward).function == "batch_norm";
}

double objective(const OperatorGraph& graph, const Values& values) {
  double sum = 0;
  for (const TensorId id : entering_gradients(graph)) {
    const Piece& left = *values[static_cast<std::size_t>(graph.tensor(id).of)];
    sum += (left.values * values[static_cast<std::size_t>(id)]->values).sum();
  }
  for (const Operator& op : graph.operators) {
    if (op.kind != OperatorKind::cross_entropy || op.phase != Phase::forward) continue;
    sum += values[static_cast<std::size_t>(op.outputs[0].tensor)]->values.sum();
  }
  return sum;
}

std::vector<TensorId> contributions(const OperatorGraph& graph, TensorId parameter) {
  std::set<TensorId> read;  // by the operator that adds them to a buffer
  for (const Operator& op : graph.operators) {
    for (const Operand& input : op.inputs) {
      const bool buffer = std::any_of(op.outputs.begin(), op.outputs.end(),
                                      [&](const Operand& output) { return output.tensor == input.tensor; });
      if (!buffer) read.insert(input.tensor);
    }
  }
  std::vector<TensorId> out;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.role != TensorRole::parameter_gradient || tensor.of != parameter) continue;
    if (!read.contains(static_cast<TensorId>(id))) out.push_back(static_cast<TensorId>(id));
  }
  return out;
}

std::optional<Piece> parameter_gradient(const OperatorGraph& graph, const Values& values, TensorId parameter) {
  std::optional<Piece> out;
  for (const TensorId id : contributions(graph, parameter)) {
    const Piece& found = *values[static_cast<std::size_t>(id)];
    if (out) {
      out->values += found.values;
    } else {
      out = found;
    }
  }
  return out;
}

}  // namespace mirfak::interpreter
