#include "sharding/row_chunks.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

double rows_of_chunk(const RowChunks& chunks, double rows) {
  return std::clamp(static_cast<double>(chunks.size), 1.0, std::max(1.0, rows));
}

double rows_of(const OperatorGraph& graph, const BlockStep& step) {
  double rows = 1;
  for (const Axis axis : graph.chunks.rows) rows *= extent(step, axis);
  return rows;
}

bool has_any(const Tensor& tensor, const AxisLabels& axes) {
  return std::any_of(axes.begin(), axes.end(), [&](Axis axis) { return tensor.axes.contains(axis); });
}

bool has_all(const Tensor& tensor, const AxisLabels& axes) {
  return std::all_of(axes.begin(), axes.end(), [&](Axis axis) { return tensor.axes.contains(axis); });
}

// Marks tensors with a value for each row and class: logits, what the loss makes of them, their gradients.
void mark_tensors(OperatorGraph& graph, const AxisLabels& classes) {
  for (Tensor& tensor : graph.tensors) {
    const bool made = tensor.role == TensorRole::activation || tensor.role == TensorRole::gradient;
    tensor.in_chunks = made && has_any(tensor, classes) && has_all(tensor, graph.chunks.rows);
  }
}

}  // namespace

OperatorGraph with_chunks(OperatorGraph graph, const RowChunks& chunks) {
  const auto loss = std::find_if(graph.operators.begin(), graph.operators.end(), [](const Operator& op) {
    return op.kind == OperatorKind::cross_entropy && op.phase == Phase::forward;
  });
  if (!chunks || loss == graph.operators.end()) return graph;
  graph.chunks = chunks;
  graph.chunks.rows = graph.tensor(loss->outputs.front().tensor).axes;
  AxisLabels classes;
  for (const Axis axis : graph.tensor(loss->inputs.front().tensor).axes) {
    if (!graph.chunks.rows.contains(axis)) classes.push_back(axis);
  }
  mark_tensors(graph, classes);
  const auto touches = [&](const std::vector<Operand>& operands) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Operand& operand) { return graph.tensor(operand.tensor).in_chunks; });
  };
  for (Operator& op : graph.operators) op.in_chunks = touches(op.inputs) || touches(op.outputs);
  return graph;
}

double chunks_of(const OperatorGraph& graph, const BlockStep& step) {
  if (!graph.op(step.op).in_chunks) return 1;
  const double rows = rows_of(graph, step);
  return rows / rows_of_chunk(graph.chunks, rows);
}

BlockStep chunk_of(const OperatorGraph& graph, const BlockStep& step) {
  BlockStep out = step;
  const double rows = rows_of_chunk(graph.chunks, rows_of(graph, step));
  for (const Axis axis : graph.chunks.rows) out.local[index_of(axis)] = 1;
  out.local[index_of(graph.chunks.rows.back())] = static_cast<std::int64_t>(rows);
  return out;
}

double bytes_at_once(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding, const DeviceMesh& mesh) {
  const double bytes = local_bytes(graph, tensor, sharding, mesh);
  if (!graph.tensor(tensor).in_chunks) return bytes;
  const AxisLabels& axes = graph.tensor(tensor).axes;
  double rows = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!graph.chunks.rows.contains(axes[i])) continue;
    const auto parts = sharding.axes[i].empty() ? 1.0 : static_cast<double>(mesh.size(sharding.axes[i]));
    rows *= std::ceil(static_cast<double>(graph.extent(axes[i])) / parts);
  }
  return bytes * rows_of_chunk(graph.chunks, rows) / rows;
}

}  // namespace mirfak
