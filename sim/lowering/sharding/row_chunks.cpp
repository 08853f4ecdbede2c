#include "sharding/row_chunks.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

double rows_of_chunk(const RowChunks& chunks, double rows) {
  return std::clamp(static_cast<double>(chunks.size), 1.0, std::max(1.0, rows));
}

double classes_of_tile(const RowChunks& chunks, double classes) {
  return chunks.tile == 0 ? classes : std::clamp(static_cast<double>(chunks.tile), 1.0, std::max(1.0, classes));
}

double product_of(const BlockStep& step, const AxisLabels& axes) {
  double out = 1;
  for (const Axis axis : axes) out *= extent(step, axis);
  return out;
}

// Leaves so many elements of axes that count together.
void cut(BlockStep& step, const AxisLabels& axes, double elements) {
  for (const Axis axis : axes) step.local[index_of(axis)] = 1;
  step.local[index_of(axes.back())] = static_cast<std::int64_t>(elements);
}

bool has_any(const Tensor& tensor, const AxisLabels& axes) {
  return std::any_of(axes.begin(), axes.end(), [&](Axis axis) { return tensor.axes.contains(axis); });
}

bool has_all(const Tensor& tensor, const AxisLabels& axes) {
  return std::all_of(axes.begin(), axes.end(), [&](Axis axis) { return tensor.axes.contains(axis); });
}

// Marks tensors with a value for each row and class: logits, what the loss makes of them, their gradients.
void mark_tensors(OperatorGraph& graph) {
  for (Tensor& tensor : graph.tensors) {
    const bool made = tensor.role == TensorRole::activation || tensor.role == TensorRole::gradient;
    tensor.in_chunks = made && has_any(tensor, graph.chunks.classes) && has_all(tensor, graph.chunks.rows);
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
  for (const Axis axis : graph.tensor(loss->inputs.front().tensor).axes) {
    if (!graph.chunks.rows.contains(axis)) graph.chunks.classes.push_back(axis);
  }
  mark_tensors(graph);
  const auto touches = [&](const std::vector<Operand>& operands) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Operand& operand) { return graph.tensor(operand.tensor).in_chunks; });
  };
  for (Operator& op : graph.operators) op.in_chunks = touches(op.inputs) || touches(op.outputs);
  return graph;
}

std::vector<TensorId> made_in_chunks(const OperatorGraph& graph) {
  std::vector<TensorId> out;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.in_chunks && tensor.role == TensorRole::activation) out.push_back(static_cast<TensorId>(id));
  }
  return out;
}

double row_chunks_of(const OperatorGraph& graph, const BlockStep& step) {
  if (!graph.op(step.op).in_chunks) return 1;
  const double rows = product_of(step, graph.chunks.rows);
  return rows / rows_of_chunk(graph.chunks, rows);
}

double chunks_of(const OperatorGraph& graph, const BlockStep& step) {
  if (!graph.op(step.op).in_chunks) return 1;
  const double classes = product_of(step, graph.chunks.classes);
  return row_chunks_of(graph, step) * classes / classes_of_tile(graph.chunks, classes);
}

BlockStep chunk_of(const OperatorGraph& graph, const BlockStep& step) {
  BlockStep out = step;
  cut(out, graph.chunks.rows, rows_of_chunk(graph.chunks, product_of(step, graph.chunks.rows)));
  if (graph.chunks.tile > 0) {
    cut(out, graph.chunks.classes, classes_of_tile(graph.chunks, product_of(step, graph.chunks.classes)));
  }
  return out;
}

double bytes_at_once(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding, const DeviceMesh& mesh) {
  const double bytes = local_bytes(graph, tensor, sharding, mesh) * graph.tensor(tensor).room;
  if (!graph.tensor(tensor).in_chunks) return bytes;
  const AxisLabels& axes = graph.tensor(tensor).axes;
  double rows = 1;
  double classes = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto parts = sharding.axes[i].empty() ? 1.0 : static_cast<double>(mesh.size(sharding.axes[i]));
    const double local = std::ceil(static_cast<double>(graph.extent(axes[i])) / parts);
    if (graph.chunks.rows.contains(axes[i])) rows *= local;
    if (graph.chunks.classes.contains(axes[i])) classes *= local;
  }
  return bytes * (rows_of_chunk(graph.chunks, rows) / rows) * (classes_of_tile(graph.chunks, classes) / classes);
}

}  // namespace mirfak
