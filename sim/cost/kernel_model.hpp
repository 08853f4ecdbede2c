#pragma once

#include "cluster/hardware.hpp"
#include "cost/activity.hpp"
#include "cost/attention_model.hpp"
#include "cost/explanation.hpp"
#include "cost/gemm_model.hpp"
#include "sharding/partition.hpp"

#include <optional>
#include <span>
#include <string>

namespace mirfak {

// In which precisions kernels compute.
struct KernelPrecision {
  Precision wide;
  Precision narrow;               // of products marked so (Operator::low_precision)
  bool narrow_in_blocks = false;  // ... whose operands have a scale per block (GpuSpec::block_scaled_rate)

  KernelPrecision(Precision all) : wide(all), narrow(all) {}  // NOLINT(google-explicit-constructor): one is the rule
  KernelPrecision(Precision wide_products, Precision narrow_products, bool in_blocks = false)
      : wide(wide_products), narrow(narrow_products), narrow_in_blocks(in_blocks) {}
};

// How kernels are started: one by one from a stream, or as part of a CUDA graph.
enum class Launch { stream, graph };

// What one kernel costs on one device.
struct KernelCost {
  double seconds = 0;
  double flop = 0;           // as counted by convention: attention over all pairs of tokens, causal or not
  double executed_flop = 0;  // what the device does: fused attention leaves out what a mask hides
  double bytes = 0;          // moved through memory
  double compute_s = 0;
  double memory_s = 0;
  double overhead_s = 0;
  double clocked_s = 0;  // of `seconds`, at the full clock: what a lower clock stretches
  double draw = 0;       // of power in that part, of the limit, at the full clock; elsewhere kMemoryBoundDraw
  Activity activity{};
};

// Prices kernels on one GPU type. A value; referenced GpuSpec must outlive it.
//
// GEMM: GemmModel. Fused attention: AttentionModel, in 16 bits where GEMMs are in
// narrower ones. All else is bound by memory: t = launch + bytes / (bandwidth e_b s_k), s_k the share of plain
// streaming that kernels of kind k reach, and several times that bandwidth where the second-level cache holds what a
// kernel moves, as its producer left it.
class KernelModel {
 public:
  // Error(infeasible) naming the GPU if it cannot compute in one of the precisions. `attention_kernels`: generations of
  // fused attention, the one that the framework prefers first (see attention_fit).
  KernelModel(const GpuSpec& gpu, const KernelPrecision& precision,
              std::span<const std::string> attention_kernels = {});

  // Prices kernels at this share of the full clock from now on; before, at the full one. `settled` is the share that
  // the device would hold by itself (see PowerMix), `limit` one that it is set to: the lower counts.
  void set_clock_share(double settled, double limit = 1) {
    settled_ = settled;
    clock_ = settled < limit ? settled : limit;
  }
  // Kernels take as many times as long from now on: what measured iterations say beyond the tables.
  void set_time_factor(double factor) { time_factor_ = factor; }
  double settled_share() const { return settled_; }
  double clock_share() const { return clock_; }

  // The kernel of a step of a partitioned block.
  KernelCost price(const PartitionedBlock& block, const BlockStep& step, Launch launch = Launch::stream) const;
  Explanation explain(const PartitionedBlock& block, const BlockStep& step) const;

  KernelCost price_gemm(const GemmShape& shape, double bytes) const {
    return corrected(wide_.price(shape, bytes, clock_));
  }
  KernelCost price_memory_bound(double bytes, OperatorKind kind = OperatorKind::elementwise,
                                Launch launch = Launch::stream) const;

  double time_factor() const { return time_factor_; }
  double peak_flops() const { return narrow_.peak; }  // of the products that most of the work is
  const GpuSpec& gpu() const { return *gpu_; }

 private:
  const AttentionModel& attention() const;
  KernelCost corrected(KernelCost cost) const;
  Explanation explain_uncorrected(const PartitionedBlock& block, const BlockStep& step) const;
  KernelCost price_attention(const OperatorGraph& graph, const BlockStep& step, double bytes) const;
  void explain_attention(const OperatorGraph& graph, const BlockStep& step, Explanation& out) const;
  void explain_plain_kernels(const OperatorGraph& graph, const BlockStep& step, const KernelCost& cost,
                             Explanation& out) const;
  KernelCost price_product(const OperatorGraph& graph, const BlockStep& step, double bytes) const;
  // Of a piece of attention that adds to earlier ones.
  KernelCost with_earlier_pieces(KernelCost cost, const OperatorGraph& graph, const BlockStep& step) const;
  Explanation explain_product(const OperatorGraph& graph, const BlockStep& step) const;
  const Figure& kind_latency(OperatorKind kind) const;
  const Figure* kind_share(OperatorKind kind) const;  // nullptr: streams
  double kernel_bytes(const OperatorGraph& graph, const BlockStep& step) const;

  // Products in one precision.
  struct Products {
    Products(const GpuSpec& gpu, Precision of, bool in_blocks);
    KernelCost price(const GemmShape& shape, double bytes, double clock) const;

    Precision precision;
    bool scales_blocks = false;
    double peak = 0;
    GemmModel model;
  };
  const Products& products_of(const Operator& op) const { return op.low_precision ? narrow_ : wide_; }

  const GpuSpec* gpu_;
  Products wide_;
  Products narrow_;
  double stream_bandwidth_ = 0;  // bytes/s that a streaming kernel reaches
  double clock_ = 1;
  double settled_ = 1;
  double time_factor_ = 1;
  std::optional<AttentionModel> attention_;
};

// The GEMM that a step's einsum becomes on one device: labels only in the first operand are rows, only in the
// second columns, in both and not in the result contracted, in all three batch.
GemmShape gemm_shape(const OperatorGraph& graph, const BlockStep& step);

// Elements that exist on a device of the operand of a step that has most of them.
double largest_operand(const OperatorGraph& graph, const BlockStep& step);

// The call of fused attention that a step is on one device. Where a device holds only some of the keys or queries of
// causal attention, early tokens are paired with late ones (Megatron Core: 2 cp chunks), so that its work is half of
// all pairs: a later piece sees all keys of half of its queries.
AttentionShape attention_shape(const OperatorGraph& graph, const BlockStep& step);

// What a device draws for a kernel that `model` priced, above what it draws while it waits in communication
// (GpuSpec::blocked_w). A clock that is set below the settled one scales the draw of all kernels by
// GpuSpec::clock_power: that is fitted to whole passes, whose share of memory-bound kernels draws less too as their
// cores are clocked down.
double energy_above_waiting_j(const KernelModel& model, const KernelCost& cost);

}  // namespace mirfak
