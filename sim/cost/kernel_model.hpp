#pragma once

#include "cluster/hardware.hpp"
#include "cost/activity.hpp"
#include "cost/attention_model.hpp"
#include "cost/explanation.hpp"
#include "sharding/partition.hpp"

#include <optional>
#include <span>
#include <string>

namespace mirfak {

// One GEMM (or `batch` equal ones in one kernel): batch x [m, k] x [k, n].
struct GemmShape {
  double batch = 1;
  double m = 0;
  double n = 0;
  double k = 0;
};

// In which precisions kernels compute.
struct KernelPrecision {
  Precision wide;
  Precision narrow;  // of products marked so (Operator::low_precision)

  KernelPrecision(Precision all) : wide(all), narrow(all) {}  // NOLINT(google-explicit-constructor): one is the rule
  KernelPrecision(Precision wide_products, Precision narrow_products) : wide(wide_products), narrow(narrow_products) {}
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
// attention: AttentionModel, in 16 bits whatever the precision of GEMMs. All else is bound by memory: t = launch +
// bytes / (bandwidth e_b s_k), s_k the share of plain streaming that kernels of kind k reach, and several times that
// bandwidth where the second-level cache holds what a kernel moves, as its producer left it.
class KernelModel {
 public:
  // Error(infeasible) naming the GPU if it cannot compute in one of the precisions. `attention_kernels`: generations of
  // fused attention, the one that the framework prefers first (see attention_fit).
  KernelModel(const GpuSpec& gpu, const KernelPrecision& precision,
              std::span<const std::string> attention_kernels = {});

  // The kernel of a step of a partitioned block.
  KernelCost price(const PartitionedBlock& block, const BlockStep& step) const;
  Explanation explain(const PartitionedBlock& block, const BlockStep& step) const;

  KernelCost price_gemm(const GemmShape& shape, double bytes) const { return wide_.price(*this, shape, bytes); }
  KernelCost price_memory_bound(double bytes, OperatorKind kind = OperatorKind::elementwise) const;

  double peak_flops() const { return narrow_.peak; }  // of the products that most of the work is
  const GpuSpec& gpu() const { return gpu_; }

 private:
  const AttentionModel& attention() const;
  KernelCost price_attention(const OperatorGraph& graph, const BlockStep& step, double bytes) const;
  void explain_attention(const OperatorGraph& graph, const BlockStep& step, Explanation& out) const;
  KernelCost price_product(const OperatorGraph& graph, const BlockStep& step, double bytes) const;
  // Of a piece of attention that adds to earlier ones.
  KernelCost with_earlier_pieces(KernelCost cost, const OperatorGraph& graph, const BlockStep& step) const;
  const Figure* kind_share(OperatorKind kind) const;  // nullptr: streams
  double kernel_bytes(const OperatorGraph& graph, const BlockStep& step) const;

  // Products in one precision.
  struct Products {
    Products(const GpuSpec& gpu, Precision of);
    KernelCost price(const KernelModel& model, const GemmShape& shape, double bytes) const;

    Precision precision;
    const GemmFit& fit;
    double peak = 0;
  };
  const Products& products_of(const Operator& op) const { return op.low_precision ? narrow_ : wide_; }

  const GpuSpec& gpu_;
  Products wide_;
  Products narrow_;
  double sustained_ = 1;
  double stream_bandwidth_ = 0;  // bytes/s that a streaming kernel reaches
  std::optional<AttentionModel> attention_;
};

// The GEMM that a step's einsum becomes on one device: labels only in the first operand are rows, only in the
// second columns, in both and not in the result contracted, in all three batch.
GemmShape gemm_shape(const OperatorGraph& graph, const BlockStep& step);

// The call of fused attention that a step is on one device. Where a device holds only some of the keys or queries of
// causal attention, early tokens are paired with late ones (Megatron Core: 2 cp chunks), so that its work is half of
// all pairs: a later piece sees all keys of half of its queries.
AttentionShape attention_shape(const OperatorGraph& graph, const BlockStep& step);

// Power of a device while its compute stream works, and while it waits.
// A stage computing at its highest clock draws its power limit: measured 301 to 330 W on A100 PCIe (300 W TDP),
// arXiv 2312.06902 artifact; waiting in communication it draws GpuSpec::blocked_w.
double busy_power_w(const GpuSpec& gpu);

}  // namespace mirfak
