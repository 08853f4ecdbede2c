#include "program/orthogonalization.hpp"

#include "cost/power_limit.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace mirfak {

namespace {

constexpr int kIterations = 5;
constexpr double kElementBytes = 2;
// Bytes per element of a matrix: read in fp32 and written in 16 bits, read for its norm, scaled, and read once more for
// the update.
constexpr double kOtherBytes = (4 + 2) + 2 + (2 + 2) + 2;

bool ends_in_loss(const PartitionedBlock& block) {
  return std::any_of(block.graph.operators.begin(), block.graph.operators.end(),
                     [](const Operator& op) { return op.kind == OperatorKind::cross_entropy; });
}

}  // namespace

std::vector<GemmShape> matrices_of(const PartitionedBlock& block) {
  std::vector<GemmShape> out;
  if (ends_in_loss(block)) return out;
  for (const BlockStep& step : block.backward) {
    if (step.kind != BlockStep::Kind::kernel || step.phase != Phase::weight_gradient || step.piece > 0) continue;
    if (block.graph.op(step.op).kind == OperatorKind::einsum) out.push_back(gemm_shape(block.graph, step));
  }
  return out;
}

namespace {

double product_bytes(const GemmShape& shape) {
  return kElementBytes * shape.batch * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
}

// The products of one iteration on a matrix.
std::array<GemmShape, 3> products_of(const GemmShape& matrix) {
  const double rows = std::min(matrix.m, matrix.n);
  const double columns = std::max(matrix.m, matrix.n);
  return {GemmShape{matrix.batch, rows, rows, columns},
          {matrix.batch, rows, rows, rows},
          {matrix.batch, rows, columns, rows}};
}

double other_bytes(const GemmShape& matrix) { return kOtherBytes * matrix.batch * matrix.m * matrix.n; }

// Returns kernels at the clock of the layers, or lower if these kernels would settle lower by themselves: they run for
// longer than a power controller averages over, and no pass between them leaves the device time to rest.
KernelModel alone(const std::vector<GemmShape>& matrices, KernelModel kernels) {
  const double settled = kernels.settled_share();
  const double limit = kernels.clock_limit();
  kernels.set_clock_share(1);
  PowerMix mix(kernels.gpu());
  const auto add = [&](const KernelCost& cost, double times) {
    mix.add_clocked(times * cost.clocked_s, cost.draw);
    mix.add_memory_bound(times * (cost.seconds - cost.clocked_s));
  };
  for (const GemmShape& matrix : matrices) {
    for (const GemmShape& product : products_of(matrix)) {
      add(kernels.price_gemm(product, product_bytes(product)), kIterations);
    }
    add(kernels.price_memory_bound(other_bytes(matrix)), 1);
  }
  const double held = std::min(mix.clock_share(), kernels.gpu().sustained_share.value);
  kernels.set_clock_share(std::min(settled, held), limit);
  return kernels;
}

}  // namespace

double matrix_elements(const PartitionedBlock& block) {
  double elements = 0;
  for (const GemmShape& matrix : matrices_of(block)) elements += matrix.batch * matrix.m * matrix.n;
  return elements;
}

Orthogonalization price_orthogonalization(const PartitionedBlock& block, const KernelModel& kernels) {
  Orthogonalization out;
  const std::vector<GemmShape> matrices = matrices_of(block);
  const KernelModel own = alone(matrices, kernels);
  for (const GemmShape& matrix : matrices) {
    double seconds = 0;
    const auto add = [&](const KernelCost& cost, double times) {
      seconds += times * cost.seconds;
      out.energy_j += times * energy_above_waiting_j(own, cost);
    };
    for (const GemmShape& product : products_of(matrix)) {
      add(own.price_gemm(product, product_bytes(product)), kIterations);
      out.flop += kIterations * product.flop();
      out.bytes += kIterations * product_bytes(product);
    }
    add(own.price_memory_bound(other_bytes(matrix)), 1);
    out.bytes += other_bytes(matrix);
    out.seconds += seconds;
    out.largest_s = std::max(out.largest_s, seconds / matrix.batch);
  }
  return out;
}

}  // namespace mirfak
