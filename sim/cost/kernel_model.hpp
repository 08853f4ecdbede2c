#pragma once

#include "cluster/hardware.hpp"
#include "cost/activity.hpp"
#include "cost/explanation.hpp"
#include "sharding/partition.hpp"

namespace mirfak {

// One GEMM (or `batch` equal ones in one kernel): batch x [m, k] x [k, n].
struct GemmShape {
  double batch = 1;
  double m = 0;
  double n = 0;
  double k = 0;
};

// What one kernel costs on one device.
struct KernelCost {
  double seconds = 0;
  double flop = 0;   // as counted by convention: attention over all pairs of tokens, causal or not
  double bytes = 0;  // moved through memory
  double compute_s = 0;
  double memory_s = 0;
  double overhead_s = 0;
  Activity activity{};
};

// Prices kernels on one GPU type. A value; referenced GpuSpec must outlive it.
//
// GEMM: t = t0 + ((FLOP / (peak e_c c))^p + (bytes / (bandwidth e_m))^p)^(1/p), four constants fitted to measured
// tables per GPU and precision, c the share of the benchmark's clock that long runs hold under the power limit. Fused
// attention: the same sum with p = infinity and e_c(s) = e s / (s + s_half), s tokens. All else is bound by memory: t =
// max(launch, bytes / (bandwidth e_b)).
class KernelModel {
 public:
  // Error(input) naming the GPU if it cannot compute in `precision`.
  KernelModel(const GpuSpec& gpu, Precision precision);

  // The kernel of a step of a partitioned block.
  KernelCost price(const PartitionedBlock& block, const BlockStep& step) const;
  Explanation explain(const PartitionedBlock& block, const BlockStep& step) const;

  KernelCost price_gemm(const GemmShape& shape, double bytes) const;
  KernelCost price_memory_bound(double bytes) const;

  double peak_flops() const { return peak_; }
  const GpuSpec& gpu() const { return gpu_; }

 private:
  KernelCost price_attention(const OperatorGraph& graph, const BlockStep& step, double bytes) const;
  // Of a piece of attention that adds to earlier ones.
  KernelCost with_earlier_pieces(KernelCost cost, const OperatorGraph& graph, const BlockStep& step) const;
  double attention_efficiency(double tokens) const;
  double kernel_bytes(const OperatorGraph& graph, const BlockStep& step) const;

  const GpuSpec& gpu_;
  const GemmFit& fit_;
  Precision precision_;
  double peak_ = 0;
  double sustained_ = 1;
  double stream_bandwidth_ = 0;  // bytes/s that a streaming kernel reaches
};

// The GEMM that a step's einsum becomes on one device: labels only in the first operand are rows, only in the
// second columns, in both and not in the result contracted, in all three batch.
GemmShape gemm_shape(const OperatorGraph& graph, const BlockStep& step);

// Power of a device while its compute stream works, and while it waits.
// A stage computing at its highest clock draws its power limit: measured 301 to 330 W on A100 PCIe (300 W TDP),
// arXiv 2312.06902 artifact; waiting in communication it draws GpuSpec::blocked_w.
double busy_power_w(const GpuSpec& gpu);

}  // namespace mirfak
