#include "cost/kernel_surroundings.hpp"

#include "cost/kernel_model.hpp"

#include <algorithm>

namespace mirfak {

namespace {

double bytes_of(const OperatorGraph& graph, const Operand& operand, const BlockStep& step) {
  double bytes = graph.tensor(operand.tensor).bytes_per_element * graph.tensor(operand.tensor).repeats;
  for (const Axis label : operand.labels) bytes *= static_cast<double>(step.local[index_of(label)]);
  return bytes;
}

void add_copies(const KernelSurroundings& around, const OperatorGraph& graph, const BlockStep& step,
                SurroundingTraffic& traffic) {
  const Operator& op = graph.op(step.op);
  const AttentionShape whole = whole_attention_shape(graph, step);
  const double element = graph.tensor(op.inputs.front().tensor).bytes_per_element;
  const double values = whole.value_dim > 0 ? whole.value_dim : whole.head_dim;
  const double ranks = around.context_ranks;
  const double own_keys = whole.keys / (around.gathers_keys ? ranks : 1);
  const double of_queries = whole.batch * whole.queries * whole.heads * whole.head_dim * element;
  const double of_keys = whole.batch * own_keys * whole.kv_heads * (whole.head_dim + values) * element;
  const double sequences = op.documents.empty() ? whole.batch : 1;
  for (const AttentionCopies& entry : around.copies) {
    if (sequences < entry.sequences) continue;
    const CopyShares& of = op.phase == Phase::forward ? entry.forward : entry.backward;
    const bool first = step.piece == 0;
    if (!first && !op.causal) continue;  // pieces have halves of queries or keys where early and late tokens are paired
    const double queries = first ? of.queries : of.later_queries;
    const double keys = first ? of.keys + ranks * of.gathered + (ranks + 0.5) * of.seen : of.later_keys;
    if (queries + keys == 0) continue;
    traffic.copies += 2 * (queries * of_queries + keys * of_keys);
    traffic.kernels += of.kernels;
  }
}

// True for a head with its loss, whose products are the library's own, which fills nothing.
bool is_head(const OperatorGraph& graph) {
  return std::any_of(graph.operators.begin(), graph.operators.end(),
                     [](const Operator& op) { return op.kind == OperatorKind::cross_entropy; });
}

bool is_filled(const KernelSurroundings& around, const OperatorGraph& graph, const Operator& op) {
  switch (op.kind) {
    case OperatorKind::einsum:
      return around.fills_linear && op.linear && !is_head(graph);
    case OperatorKind::normalization:
      return around.fills_normalization;
    case OperatorKind::attention:
      return around.fills_attention;
    case OperatorKind::elementwise:
      return around.fills_rotary && op.function == "rotary";
    default:
      return false;
  }
}

}  // namespace

SurroundingTraffic surrounding_traffic(const KernelSurroundings& around, const OperatorGraph& graph,
                                       const BlockStep& step) {
  const Operator& op = graph.op(step.op);
  SurroundingTraffic traffic;
  if (op.kind == OperatorKind::attention && !around.copies.empty()) add_copies(around, graph, step, traffic);
  if (around.fills_copies) traffic.filled += traffic.copies / 2;
  if (is_filled(around, graph, op)) {
    for (const Operand& output : op.outputs) traffic.filled += bytes_of(graph, output, step);
  }
  return traffic;
}

}  // namespace mirfak
