#include "program/kernel_work.hpp"

#include <numeric>

namespace mirfak {

namespace {

double product_of(const AxisLabels& labels, const AxisExtents& local) {
  return std::accumulate(labels.begin(), labels.end(), 1.0, [&](double product, Axis label) {
    return product * static_cast<double>(local[index_of(label)]);
  });
}

double bytes_of(const OperatorGraph& graph, const Operand& operand, const AxisExtents& local) {
  const Tensor& tensor = graph.tensor(operand.tensor);
  return product_of(operand.labels, local) * tensor.density * tensor.repeats * tensor.bytes_per_element;
}

KernelWork::Kind kind_of(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::einsum:
      return KernelWork::Kind::product;
    case OperatorKind::attention:
      return KernelWork::Kind::attention;
    case OperatorKind::normalization:
      return KernelWork::Kind::normalize;
    case OperatorKind::softmax:
    case OperatorKind::cross_entropy:
      return KernelWork::Kind::softmax;
    case OperatorKind::gather:
    case OperatorKind::scatter:
    case OperatorKind::dispatch:
    case OperatorKind::combine:
      return KernelWork::Kind::gather;
    case OperatorKind::view:
      return KernelWork::Kind::nothing;
    default:
      return KernelWork::Kind::stream;
  }
}

// Bytes of the innermost axis of the operand whose rows a kernel works on.
double row_bytes_of(const OperatorGraph& graph, const BlockStep& step) {
  const Operator& op = graph.op(step.op);
  const Operand& rows = op.kind == OperatorKind::gather && !op.outputs.empty() ? op.outputs.front() : op.inputs.front();
  if (rows.labels.empty()) return graph.tensor(rows.tensor).bytes_per_element;
  return static_cast<double>(step.local[index_of(rows.labels.back())]) * graph.tensor(rows.tensor).bytes_per_element;
}

}  // namespace

KernelWork kernel_work(const PartitionedBlock& block, const BlockStep& step, const KernelPrecision& precision) {
  const OperatorGraph& graph = block.graph;
  const Operator& op = graph.op(step.op);
  KernelWork work;
  work.kind = kind_of(op.kind);
  work.passes = op.passes;
  work.row_bytes = row_bytes_of(graph, step);
  for (const Operand& operand : op.inputs) work.reads.push_back(bytes_of(graph, operand, step.local));
  for (const Operand& operand : op.outputs) work.writes.push_back(bytes_of(graph, operand, step.local));
  if (work.kind == KernelWork::Kind::product) {
    work.product = gemm_shape(graph, step);
    work.narrow = op.low_precision;
    work.precision = op.low_precision ? precision.narrow : precision.wide;
    work.gradient = op.phase != Phase::forward;
  }
  if (work.kind == KernelWork::Kind::attention) {
    work.attention = attention_shape(graph, step);
    work.precision = precision.wide;
    work.backward = op.phase != Phase::forward;
  }
  // An embedding reads the rows it needs, not its table.
  if (op.kind == OperatorKind::gather) work.reads.front() = work.writes.front();
  return work;
}

KernelWork traffic_work(double bytes) {
  return memory_work(OperatorKind::elementwise, bytes * 2 / 3, bytes / 3, bytes);
}

KernelWork memory_work(OperatorKind kind, double bytes_read, double bytes_written, double row_bytes) {
  KernelWork work;
  if (bytes_read + bytes_written <= 0) return work;
  work.kind = kind_of(kind);
  work.reads = {bytes_read};
  work.writes = {bytes_written};
  work.row_bytes = row_bytes;
  return work;
}

}  // namespace mirfak
