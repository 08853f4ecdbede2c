#include "program/orthogonalization.hpp"

#include <algorithm>
#include <vector>

namespace mirfak {

namespace {

constexpr int kIterations = 5;
constexpr double kElementBytes = 2;
// Read in fp32 and written in 16 bits, read for its norm, scaled, and read once more for the update.
constexpr double kOtherBytes = (4 + 2) + 2 + (2 + 2) + 2;

bool ends_in_loss(const PartitionedBlock& block) {
  return std::any_of(block.graph.operators.begin(), block.graph.operators.end(),
                     [](const Operator& op) { return op.kind == OperatorKind::cross_entropy; });
}

// Rows and columns of the matrices, batch: of so many experts, and k of no meaning.
std::vector<GemmShape> matrices_of(const PartitionedBlock& block) {
  std::vector<GemmShape> out;
  if (ends_in_loss(block)) return out;
  for (const BlockStep& step : block.backward) {
    if (step.kind != BlockStep::Kind::kernel || step.phase != Phase::weight_gradient || step.piece > 0) continue;
    if (block.graph.op(step.op).kind == OperatorKind::einsum) out.push_back(gemm_shape(block.graph, step));
  }
  return out;
}

double product_bytes(const GemmShape& shape) {
  return kElementBytes * shape.batch * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
}

}  // namespace

double matrix_elements(const PartitionedBlock& block) {
  double elements = 0;
  for (const GemmShape& matrix : matrices_of(block)) elements += matrix.batch * matrix.m * matrix.n;
  return elements;
}

Orthogonalization price_orthogonalization(const PartitionedBlock& block, const KernelModel& kernels) {
  Orthogonalization out;
  for (const GemmShape& matrix : matrices_of(block)) {
    const double rows = std::min(matrix.m, matrix.n);
    const double columns = std::max(matrix.m, matrix.n);
    double seconds = 0;
    const auto add = [&](const KernelCost& cost, double times) {
      seconds += times * cost.seconds;
      out.energy_j += times * energy_above_waiting_j(kernels, cost);
    };
    for (const GemmShape& product : {GemmShape{matrix.batch, rows, rows, columns},
                                     {matrix.batch, rows, rows, rows},
                                     {matrix.batch, rows, columns, rows}}) {
      add(kernels.price_gemm(product, product_bytes(product)), kIterations);
      out.flop += kIterations * product.flop();
      out.bytes += kIterations * product_bytes(product);
    }
    const double moved = kOtherBytes * matrix.batch * rows * columns;
    add(kernels.price_memory_bound(moved), 1);
    out.bytes += moved;
    out.seconds += seconds;
    out.largest_s = std::max(out.largest_s, seconds / matrix.batch);
  }
  return out;
}

}  // namespace mirfak
