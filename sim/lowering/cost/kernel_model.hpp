#pragma once

#include "cluster/hardware.hpp"
#include "cost/activity.hpp"
#include "cost/attention_model.hpp"
#include "cost/explanation.hpp"
#include "cost/gemm_model.hpp"
#include "cost/kernel_surroundings.hpp"
#include "sharding/partition.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace mirfak {

// Precisions in which kernels compute.
struct KernelPrecision {
  Precision wide;
  Precision narrow;               // precision of products with Operator::low_precision
  bool narrow_in_blocks = false;  // operands of narrow products have a scale per block (GpuSpec::block_scaled_rate)

  KernelPrecision(Precision all) : wide(all), narrow(all) {}  // NOLINT(google-explicit-constructor): one is the rule
  KernelPrecision(Precision wide_products, Precision narrow_products, bool in_blocks = false)
      : wide(wide_products), narrow(narrow_products), narrow_in_blocks(in_blocks) {}
};

// Launch of kernels: one by one from a stream, or as part of a CUDA graph.
enum class Launch { stream, graph };

// Cost of one kernel on one device.
struct KernelCost {
  double seconds = 0;
  double flop = 0;           // counted by convention: attention over all pairs of tokens, causal or not
  double executed_flop = 0;  // executed by the device: fused attention skips masked blocks
  double bytes = 0;          // moved through memory
  double compute_s = 0;
  double memory_s = 0;
  double overhead_s = 0;
  double clocked_s = 0;  // part of `seconds` at the full clock that a lower clock stretches
  double draw = 0;  // power draw in that part as a share of the limit, at the full clock; elsewhere memory_bound_draw()
  Activity activity{};
};

// Prices kernels on one GPU type. A value; the referenced GpuSpec must outlive it.
//
// GEMM: GemmModel. Fused attention: AttentionModel, in 16 bits if GEMMs are in narrower formats. All other kernels are
// bound by memory: t = launch + bytes / (bandwidth e_b s_k), where s_k is the share of plain streaming that kernels of
// kind k reach. The bandwidth is several times as high if the second-level cache holds the data that a kernel moves, as
// its producer left them.
class KernelModel {
 public:
  // Throws Error(infeasible) naming the GPU if it cannot compute in one of the precisions. `attention_kernels`:
  // generations of fused attention, in the framework's order of preference (see attention_fit).
  KernelModel(const GpuSpec& gpu, const KernelPrecision& precision,
              std::span<const std::string> attention_kernels = {});

  // Sets the share of the full clock for all later prices; the initial clock is the full one. `settled` is the share
  // that the device would hold by itself (see PowerMix), `limit` a share that the device is set to: the lower one
  // counts. Under a power limit that throttles the GPU, clocks of this model are those before the throttle, and `limit`
  // is not.
  void set_clock_share(double settled, double limit = 1) {
    settled_ = settled;
    limit_ = limit;
    limit = unthrottled_clock(*gpu_, limit);
    clock_ = settled < limit ? settled : limit;
  }
  // Multiplies all later prices by `factor`: the correction from measured iterations beyond the tables.
  void set_time_factor(double factor) { time_factor_ = factor; }
  // Adds what the framework does around kernels to all later prices; nullptr: nothing.
  void set_surroundings(std::shared_ptr<const KernelSurroundings> around) { around_ = std::move(around); }
  double settled_share() const { return settled_; }
  double clock_share() const { return clock_; }
  double clock_limit() const { return limit_; }
  double running_clock() const { return clock_ / gpu_->throttle.stretch; }  // throttle included

  // Returns the cost of the kernel of a step of a partitioned block.
  KernelCost price(const PartitionedBlock& block, const BlockStep& step, Launch launch = Launch::stream) const;
  Explanation explain(const PartitionedBlock& block, const BlockStep& step) const;

  KernelCost price_gemm(const GemmShape& shape, double bytes) const {
    return corrected(wide_.price(shape, bytes, clock_));
  }
  // `flop`: counted by convention; `bytes`: of all operands.
  KernelCost price_attention(const AttentionShape& shape, bool backward, double flop, double bytes) const;
  KernelCost price_memory_bound(double bytes, OperatorKind kind = OperatorKind::elementwise,
                                Launch launch = Launch::stream) const;

  double time_factor() const { return time_factor_; }
  double peak_flops() const { return narrow_.peak; }  // peak of narrow products, which are most of the work
  const GpuSpec& gpu() const { return *gpu_; }

 private:
  const AttentionModel& attention() const;
  KernelCost corrected(KernelCost cost) const;
  Explanation explain_uncorrected(const PartitionedBlock& block, const BlockStep& step) const;
  Explanation explain_alone(const PartitionedBlock& block, const BlockStep& step) const;
  KernelCost price_alone(const PartitionedBlock& block, const BlockStep& step, Launch launch) const;
  // Cost of the copies and fills around the kernel of a step.
  KernelCost price_surroundings(const OperatorGraph& graph, const BlockStep& step, Launch launch) const;
  double filled_inside_attention(const OperatorGraph& graph, const BlockStep& step) const;
  AttentionShape attention_call(const OperatorGraph& graph, const BlockStep& step) const;
  KernelCost price_attention(const OperatorGraph& graph, const BlockStep& step, double bytes) const;
  void explain_attention(const OperatorGraph& graph, const BlockStep& step, Explanation& out) const;
  void explain_plain_kernels(const OperatorGraph& graph, const BlockStep& step, const KernelCost& cost,
                             Explanation& out) const;
  KernelCost price_product(const OperatorGraph& graph, const BlockStep& step, double bytes) const;
  // Adds the cost of adding the results of earlier pieces to a piece of attention.
  KernelCost with_earlier_pieces(KernelCost cost, const OperatorGraph& graph, const BlockStep& step) const;
  Explanation explain_product(const OperatorGraph& graph, const BlockStep& step) const;
  const Figure& kind_latency(OperatorKind kind) const;
  const Figure* kind_share(OperatorKind kind) const;  // nullptr: the kind reaches plain streaming
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
  double limit_ = 1;
  double time_factor_ = 1;
  std::optional<AttentionModel> attention_;
  std::shared_ptr<const KernelSurroundings> around_;
};

// Returns the GEMM that a step's einsum becomes on one device. Labels only in the first operand are rows, labels only
// in the second are columns, labels in both but not in the result are contracted, labels in all three are batch.
GemmShape gemm_shape(const OperatorGraph& graph, const BlockStep& step);

// Returns the number of elements that exist on a device, for the operand of a step that has most of them.
double largest_operand(const OperatorGraph& graph, const BlockStep& step);

// Returns all queries and keys that a step's attention has on one device.
AttentionShape whole_attention_shape(const OperatorGraph& graph, const BlockStep& step);

// Returns the call of fused attention that a step is on one device. If a device holds only some of the keys or queries
// of causal attention, early tokens are paired with late ones (Megatron Core: 2 cp chunks), so that its work is half of
// all pairs: a later piece sees all keys with half of its queries.
AttentionShape attention_shape(const OperatorGraph& graph, const BlockStep& step);

// Returns the energy in joules that a device draws for a kernel priced by `model`, above its draw while it waits in
// communication (GpuSpec::blocked_w). A clock set below the settled one scales the draw of all kernels by
// GpuSpec::clock_power. That factor is fitted to whole passes, whose memory-bound kernels draw less too when their
// cores are clocked down.
double energy_above_waiting_j(const KernelModel& model, const KernelCost& cost);

// Shares of the full clock: that which a device would hold by itself, and that at which it runs.
struct KernelClock {
  double settled = 1;
  double set = 1;
};
// Returns the same energy for a kernel whose clock its model does not know. `cost`: `seconds` at the clock, `clocked_s`
// at the full one.
double energy_above_waiting_j(const GpuSpec& gpu, const KernelClock& clock, const KernelCost& cost);

}  // namespace mirfak
