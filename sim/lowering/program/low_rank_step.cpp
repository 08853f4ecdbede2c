#include "program/low_rank_step.hpp"

#include "program/orthogonalization.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// Seconds of torch.linalg.svd for each m^2 n of a matrix of m rows and n columns, m <= n. The first step of a Llama of
// 1 B parameters (24 layers; 4 matrices of 2048 x 2048 and 3 of 2048 x 5461 each: 2.47e12) takes 70 s on an A100, the
// next ones 30 ms (github.com/jiaweizzhao/GaLore issue 16). Nothing judges it on other devices, where it is taken as
// the same: the decomposition waits for its own small kernels.
constexpr double kSearchSeconds = 70 / 2.47e12;

constexpr double kProjectorGroup = 256;  // values that share a scale and a zero

struct Sides {
  double shorter = 0;
  double longer = 0;
  double rank = 0;
};

Sides sides_of(const GemmShape& matrix, int rank) {
  const double shorter = std::min(matrix.m, matrix.n);
  return {shorter, std::max(matrix.m, matrix.n), std::min<double>(rank, shorter)};
}

// Products of gradients run in the precision that gradients have.
KernelModel kernels_for_gradients(const Job& job, const KernelModel& of_layers) {
  const bool wide = gradient_bytes(job) == bytes_per_element(Precision::fp32);
  if (!wide || !of_layers.gpu().peak_flops.contains(Precision::fp32)) return of_layers;
  KernelModel out(of_layers.gpu(), Precision::fp32);
  out.set_time_factor(of_layers.time_factor());
  return out;
}

}  // namespace

LowRankState low_rank_state(const PartitionedBlock& block, int rank) {
  LowRankState out;
  for (const GemmShape& matrix : matrices_of(block)) {
    const Sides sides = sides_of(matrix, rank);
    out.elements += matrix.batch * matrix.m * matrix.n;
    out.projected += matrix.batch * sides.rank * sides.longer;
    out.projectors += matrix.batch * sides.rank * sides.shorter;
  }
  return out;
}

double projector_bytes(const Job& job) {
  const double width = gradient_bytes(job);
  return job.training.low_rank_gradients.quantized_projectors ? 1 + 2 * width / kProjectorGroup : width;
}

LowRankStep price_low_rank_step(const Job& job, const PartitionedBlock& block, const KernelModel& kernels) {
  const LowRankGradients& low = job.training.low_rank_gradients;
  const KernelModel own = kernels_for_gradients(job, kernels);
  const double width = gradient_bytes(job);
  LowRankStep out;
  for (const GemmShape& matrix : matrices_of(block)) {
    const Sides sides = sides_of(matrix, low.rank);
    const double values = sides.rank * (sides.shorter + sides.longer) + sides.shorter * sides.longer;
    const GemmShape there{matrix.batch, sides.rank, sides.longer, sides.shorter};
    const GemmShape back{matrix.batch, sides.shorter, sides.longer, sides.rank};
    for (const GemmShape& product : {there, back}) {
      const double bytes = matrix.batch * values * width;
      const KernelCost cost = own.price_gemm(product, bytes);
      out.seconds += cost.seconds;
      out.energy_j += energy_above_waiting_j(own, cost);
      out.flop += product.flop();
      out.bytes += bytes;
    }
    out.search_s += matrix.batch * kSearchSeconds * sides.shorter * sides.shorter * sides.longer;
  }
  out.seconds += out.search_s / low.every;
  return out;
}

}  // namespace mirfak
