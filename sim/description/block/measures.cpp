#include "block/measures.hpp"

#include "graph/missing_gradients.hpp"

#include <algorithm>

namespace mirfak::block {

namespace {

double product(const OperatorGraph& graph, const AxisLabels& labels) {
  double out = 1;
  for (const Axis label : labels) out *= static_cast<double>(graph.extent(label));
  return out;
}

double einsum_flop(const OperatorGraph& graph, const Operator& op) {
  const EinsumLabels labels = classify_labels(op);
  double out = 2;
  for (const AxisLabels* list : {&labels.batch, &labels.rows, &labels.columns, &labels.contracted}) {
    out *= product(graph, *list);
  }
  double density = 1;
  for (const Operand& input : op.inputs) density = std::min(density, graph.tensor(input.tensor).density);
  return out * density;
}

double attention_flop(const OperatorGraph& graph, const Operator& op) {
  const AttentionLabels labels = classify_attention(graph, op);
  const double pairs =
      static_cast<double>(graph.extent(labels.queries)) * static_cast<double>(graph.extent(labels.keys));
  const double heads = product(graph, labels.kv_heads) * product(graph, labels.groups);
  return op.matmuls * 2 * product(graph, labels.batch) * heads * pairs *
         static_cast<double>(graph.extent(labels.width));
}

// Returns 2 b s (Q g N + h Q P + 2 h N P): chunks of Q tokens, g groups, h heads of width P, a state of N.
double scan_flop(const OperatorGraph& graph, const Operator& op) {
  const ScanLabels labels = classify_scan(graph, op);
  const double tokens = static_cast<double>(graph.extent(labels.tokens));
  const double chunk = std::min(static_cast<double>(op.chunk), tokens);
  const double groups = product(graph, labels.groups);
  const double heads = groups * product(graph, labels.heads);
  const double width = product(graph, labels.width);
  const double state = static_cast<double>(graph.extent(labels.state));
  return 2 * product(graph, labels.batch) * tokens *
         (chunk * groups * state + heads * chunk * width + 2 * heads * state * width);
}

// Returns the share of a parameter's elements that a token meets.
double share_met(const OperatorGraph& graph, TensorId parameter) {
  for (const Operator& op : graph.operators) {
    if (op.kind != OperatorKind::einsum) continue;
    const bool read = std::any_of(op.inputs.begin(), op.inputs.end(),
                                  [&](const Operand& input) { return input.tensor == parameter; });
    if (!read) continue;
    for (const Operand& input : op.inputs) {
      if (graph.tensor(input.tensor).density < 1) return graph.tensor(input.tensor).density;
    }
  }
  return 1;
}

template <typename Share>
double count(const OperatorGraph& graph, const Share& share) {
  double out = 0;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.role != TensorRole::parameter || tensor.tied) continue;
    out += static_cast<double>(graph.elements(static_cast<TensorId>(id))) * share(static_cast<TensorId>(id));
  }
  return out;
}

}  // namespace

double flop(const OperatorGraph& graph, const Operator& op) {
  switch (op.kind) {
    case OperatorKind::einsum:
      return einsum_flop(graph, op);
    case OperatorKind::attention:
      return attention_flop(graph, op);
    case OperatorKind::scan:
      return scan_flop(graph, op);
    case OperatorKind::custom:
      return op.custom.flop;
    default:
      return 0;
  }
}

double forward_flop(const OperatorGraph& graph) {
  double out = 0;
  for (const Operator& op : graph.operators) out += op.phase == Phase::forward ? flop(graph, op) : 0;
  return out;
}

double model_flop(const OperatorGraph& graph) {
  const bool differentiated = has_gradients(graph);
  double out = 0;
  for (const Operator& op : graph.operators) {
    if (op.phase == Phase::forward) out += flop(graph, op) * (3 - missing_gradients(graph, op, differentiated));
  }
  return out;
}

double parameters(const OperatorGraph& graph) {
  return count(graph, [](TensorId /*id*/) { return 1.0; });
}

double active_parameters(const OperatorGraph& graph) {
  return count(graph, [&](TensorId id) { return share_met(graph, id); });
}

}  // namespace mirfak::block
