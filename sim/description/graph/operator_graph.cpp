#include "graph/operator_graph.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace mirfak {

const std::vector<std::string>& parallelism_names() {
  static const std::vector<std::string> names = {"none", "data", "tokens", "tensor", "experts", "expert_tensor"};
  return names;
}

std::string_view name_of(Parallelism parallelism) { return parallelism_names()[static_cast<std::size_t>(parallelism)]; }

std::string_view name_of(OperatorKind kind) {
  constexpr std::array<std::string_view, 14> names = {
      "einsum",        "attention", "elementwise", "normalization", "softmax", "gather", "scatter",
      "cross_entropy", "reduction", "dispatch",    "combine",       "view",    "scan",   "custom"};
  return names[static_cast<std::size_t>(kind)];
}

namespace {

// Fails for too many axes or tags. Packed products and adapters add to those of the block's text.
[[noreturn]] void too_many(const std::string& block, const char* what, std::size_t most) {
  fail_input({}, "block " + block + " needs more than " + std::to_string(most) + " " + what,
             "divide it into several blocks");
}

}  // namespace

Axis OperatorGraph::add_axis(AxisInfo axis) {
  if (axes.size() == kMaxAxes) too_many(name, "axes", kMaxAxes);
  if (find_axis(axis.name)) fail_internal("block " + name + " has two axes " + axis.name);
  axes.push_back(std::move(axis));
  return static_cast<Axis>(axes.size() - 1);
}

std::optional<Axis> OperatorGraph::find_axis(std::string_view wanted) const {
  const auto found = std::find_if(axes.begin(), axes.end(), [&](const AxisInfo& axis) { return axis.name == wanted; });
  if (found == axes.end()) return std::nullopt;
  return static_cast<Axis>(found - axes.begin());
}

Axis OperatorGraph::axis(std::string_view wanted) const {
  const std::optional<Axis> found = find_axis(wanted);
  if (!found) fail_internal("block " + name + " has no axis " + std::string(wanted));
  return *found;
}

std::optional<Tag> OperatorGraph::find_tag(std::string_view wanted) const {
  const auto found = std::find(tags.begin(), tags.end(), wanted);
  if (found == tags.end()) return std::nullopt;
  return static_cast<Tag>(found - tags.begin());
}

Tag OperatorGraph::tag(std::string_view wanted) {
  if (const std::optional<Tag> found = find_tag(wanted)) return *found;
  if (tags.size() == kMaxTags) too_many(name, "tags", kMaxTags);
  tags.emplace_back(wanted);
  return static_cast<Tag>(tags.size() - 1);
}

TensorId OperatorGraph::add_tensor(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(tensors.size() - 1);
}

OperatorId OperatorGraph::add_operator(std::string operator_name, OperatorKind kind, std::span<const TensorId> from,
                                       std::span<const TensorId> to) {
  const auto operand = [this](TensorId id) { return Operand{id, tensor(id).axes, {}}; };
  Operator& added = operators.emplace_back();
  added.name = std::move(operator_name);
  added.kind = kind;
  added.inputs.reserve(from.size());
  added.outputs.reserve(to.size());
  std::transform(from.begin(), from.end(), std::back_inserter(added.inputs), operand);
  std::transform(to.begin(), to.end(), std::back_inserter(added.outputs), operand);
  return static_cast<OperatorId>(operators.size() - 1);
}

bool OperatorGraph::is_stream(TensorId id) const {
  const auto holds = [id](const std::vector<TensorId>& streams) {
    return std::find(streams.begin(), streams.end(), id) != streams.end();
  };
  return holds(inputs) || holds(outputs);
}

std::int64_t OperatorGraph::elements(TensorId tensor) const {
  std::int64_t count = 1;
  for (const Axis axis : this->tensor(tensor).axes) count *= extent(axis);
  return count;
}

double OperatorGraph::bytes(TensorId tensor) const {
  const Tensor& of = this->tensor(tensor);
  return static_cast<double>(elements(tensor)) * of.density * of.repeats * of.bytes_per_element;
}

namespace {

bool has_window_on(const Operator& op, Axis label) {
  const auto windowed = [label](const Operand& operand) {
    return std::any_of(operand.windows.begin(), operand.windows.end(),
                       [&](const Window& window) { return operand.labels[window.position] == label; });
  };
  return std::any_of(op.inputs.begin(), op.inputs.end(), windowed) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), windowed);
}

// Returns the labels with each windowed axis as its step and its tap.
AxisLabels multiplied(const Operand& operand) {
  if (operand.windows.empty()) return operand.labels;
  AxisLabels out;
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    const auto window = std::find_if(operand.windows.begin(), operand.windows.end(),
                                     [&](const Window& candidate) { return candidate.position == i; });
    if (window == operand.windows.end()) {
      out.push_back(operand.labels[i]);
    } else {
      out.push_back(window->step);
      out.push_back(window->tap);
    }
  }
  return out;
}

}  // namespace

bool must_be_whole(const Operator& op, Axis label) {
  switch (op.kind) {
    case OperatorKind::normalization:
    case OperatorKind::softmax:
    case OperatorKind::dispatch:
    case OperatorKind::combine:
    case OperatorKind::scan:
    case OperatorKind::custom:
    case OperatorKind::elementwise:
      return op.over.contains(label);
    case OperatorKind::attention:
      return label == op.over[1] || label == op.over[2];
    case OperatorKind::reduction:
      // Gradients of a short convolution's taps are summed where the operands lie, as in the convolution itself.
      return op.gradient_of < 0 && has_window_on(op, label);
    case OperatorKind::einsum:
      return has_window_on(op, label);
    default:
      return false;
  }
}

EinsumLabels classify_labels(const Operator& einsum) {
  const AxisLabels left = multiplied(einsum.inputs[0]);
  const AxisLabels right = multiplied(einsum.inputs[1]);
  const AxisSet in_left(left);
  const AxisSet in_right(right);
  const AxisSet in_result(multiplied(einsum.outputs[0]));
  EinsumLabels out;
  for (const Axis axis : left) {
    if (!in_right.contains(axis)) {
      out.rows.push_back(axis);
    } else if (in_result.contains(axis)) {
      out.batch.push_back(axis);
    } else {
      out.contracted.push_back(axis);
    }
  }
  for (const Axis axis : right) {
    if (!in_left.contains(axis)) out.columns.push_back(axis);
  }
  return out;
}

AttentionLabels classify_attention(const OperatorGraph& graph, const Operator& attention) {
  const std::vector<Operand>& operands = attention.phase == Phase::forward ? attention.inputs : attention.outputs;
  const AxisSet over(attention.over);
  const AxisSet of_key(operands[1].labels);
  AttentionLabels out;
  out.queries = attention.over[0];
  out.keys = attention.over[1];
  out.width = attention.over[2];
  for (const Axis axis : operands[0].labels) {
    if (over.contains(axis)) continue;
    if (!of_key.contains(axis)) {
      out.groups.push_back(axis);
    } else if (graph.divided_by(axis) == Parallelism::data) {
      out.batch.push_back(axis);
    } else {
      out.kv_heads.push_back(axis);
    }
  }
  for (const Axis axis : operands[2].labels) {
    if (!of_key.contains(axis)) out.value.push_back(axis);
  }
  return out;
}

ScanLabels classify_scan(const OperatorGraph& graph, const Operator& scan) {
  const std::vector<Operand>& operands = scan.phase == Phase::forward ? scan.inputs : scan.outputs;
  const AxisSet of_step(operands[1].labels);
  const AxisSet of_b(operands[2].labels);
  ScanLabels out;
  out.tokens = scan.over[0];
  out.state = scan.over[1];
  for (const Axis axis : operands[0].labels) {
    if (axis == out.tokens) continue;
    if (!of_step.contains(axis)) {
      out.width.push_back(axis);
    } else if (!of_b.contains(axis)) {
      out.heads.push_back(axis);
    } else if (graph.divided_by(axis) == Parallelism::data) {
      out.batch.push_back(axis);
    } else {
      out.groups.push_back(axis);
    }
  }
  return out;
}

}  // namespace mirfak
