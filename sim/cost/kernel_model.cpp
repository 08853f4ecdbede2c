#include "cost/kernel_model.hpp"

#include "base/error.hpp"
#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

double product(const std::vector<Axis>& labels, const AxisExtents& local) {
  double out = 1;
  for (const Axis label : labels) out *= static_cast<double>(local[static_cast<std::size_t>(label)]);
  return out;
}

double extent(const BlockStep& step, Axis axis) {
  return static_cast<double>(step.local[static_cast<std::size_t>(axis)]);
}

double peak_of(const GpuSpec& gpu, Precision precision) {
  const auto found = gpu.peak_flops.find(precision);
  if (found == gpu.peak_flops.end()) {
    std::string supported;
    for (const auto& entry : gpu.peak_flops) supported += (supported.empty() ? "" : ", ") + name_of(entry.first);
    fail_infeasible({}, fmt::format("{} cannot compute in {}", gpu.title, name_of(precision)),
                    "it supports " + supported + ": change training.precision");
  }
  return found->second.value;
}

Explanation::Input input(std::string name, double value, const Figure& figure) {
  return {std::move(name), fmt::format("{:.4g}", value), figure.source};
}

}  // namespace

GemmShape gemm_shape(const OperatorGraph& graph, const BlockStep& step) {
  const EinsumLabels labels = classify_labels(graph.op(step.op));
  return {product(labels.batch, step.local), product(labels.rows, step.local), product(labels.columns, step.local),
          product(labels.contracted, step.local)};
}

KernelModel::KernelModel(const GpuSpec& gpu, Precision precision)
    : gpu_(gpu),
      fit_(gpu.gemm_fit(precision)),
      precision_(precision),
      peak_(peak_of(gpu, precision)),
      sustained_(gpu.sustained_share.value),
      stream_bandwidth_(gpu.memory_bandwidth.value * gpu.memory_bandwidth_efficiency.value) {}

double KernelModel::kernel_bytes(const OperatorGraph& graph, const BlockStep& step) const {
  const Operator& op = graph.op(step.op);
  double bytes = 0;
  const auto add = [&](const std::vector<Operand>& operands) {
    for (const Operand& operand : operands) {
      bytes += product(operand.labels, step.local) * graph.tensor(operand.tensor).bytes_per_element;
    }
  };
  add(op.inputs);
  add(op.outputs);
  // An embedding reads the rows it needs, not its table.
  if (op.kind == OperatorKind::gather) {
    const Operand& table = op.inputs.front();
    bytes -= product(table.labels, step.local) * graph.tensor(table.tensor).bytes_per_element;
    bytes += product(op.outputs.front().labels, step.local) * graph.tensor(table.tensor).bytes_per_element;
  }
  return bytes * op.passes;
}

KernelCost KernelModel::price(const PartitionedBlock& block, const BlockStep& step) const {
  const double bytes = kernel_bytes(block.graph, step);
  switch (block.graph.op(step.op).kind) {
    case OperatorKind::einsum:
      return price_gemm(gemm_shape(block.graph, step), bytes);
    case OperatorKind::attention:
      return with_earlier_pieces(price_attention(block.graph, step, bytes), block.graph, step);
    default:
      return price_memory_bound(bytes);
  }
}

KernelCost KernelModel::price_gemm(const GemmShape& shape, double bytes) const {
  KernelCost cost;
  cost.activity = Activity::gemm;
  cost.flop = 2 * shape.batch * shape.m * shape.n * shape.k;
  cost.bytes = bytes;
  cost.compute_s = cost.flop / (peak_ * fit_.compute_efficiency.value * sustained_);
  cost.memory_s = bytes / (gpu_.memory_bandwidth.value * fit_.memory_efficiency.value);
  cost.overhead_s = fit_.overhead_s.value;
  const double p = fit_.exponent.value;
  cost.seconds = cost.overhead_s + std::pow(std::pow(cost.compute_s, p) + std::pow(cost.memory_s, p), 1 / p);
  return cost;
}

double KernelModel::attention_efficiency(double tokens) const {
  const AttentionFit& fit = gpu_.attention;
  return fit.efficiency.value * tokens / (tokens + fit.half_sequence.value);
}

KernelCost KernelModel::price_attention(const OperatorGraph& graph, const BlockStep& step, double bytes) const {
  const Operator& op = graph.op(step.op);
  const double tokens = extent(step, Axis::kv_sequence);
  const double heads = extent(step, Axis::kv_heads) * extent(step, Axis::query_group);
  KernelCost cost;
  cost.activity = Activity::attention;
  cost.flop = op.matmuls * 2 * extent(step, Axis::batch) * heads * extent(step, Axis::sequence) * tokens *
              extent(step, Axis::head_dim);
  cost.bytes = bytes;
  const double executed = op.causal ? cost.flop / 2 : cost.flop;
  const double share = op.phase == Phase::forward ? 1 : gpu_.attention.backward_share.value;
  cost.compute_s = executed / (peak_ * attention_efficiency(tokens) * share * sustained_);
  cost.memory_s = bytes / stream_bandwidth_;
  cost.overhead_s = gpu_.kernel_launch_s.value;
  cost.seconds = cost.overhead_s + std::max(cost.compute_s, cost.memory_s);
  return cost;
}

// A kernel reads its results and those of the pieces before it, rescales and writes the sum. Causal work is balanced
// over devices by pairing early tokens with late ones (Megatron Core: 2 cp chunks), so that a later piece has half of
// the queries or half of the keys: three quarters of the results in the mean.
KernelCost KernelModel::with_earlier_pieces(KernelCost cost, const OperatorGraph& graph, const BlockStep& step) const {
  if (step.piece == 0) return cost;
  const Operator& op = graph.op(step.op);
  double results = 0;
  for (const Operand& output : op.outputs) {
    results += product(output.labels, step.local) * graph.tensor(output.tensor).bytes_per_element;
  }
  const KernelCost sum = price_memory_bound(3 * results * (op.causal ? 0.75 : 1));
  cost.bytes += sum.bytes;
  cost.seconds += sum.seconds;
  return cost;
}

KernelCost KernelModel::price_memory_bound(double bytes) const {
  KernelCost cost;
  cost.activity = Activity::memory_bound;
  cost.bytes = bytes;
  cost.memory_s = bytes / stream_bandwidth_;
  cost.overhead_s = gpu_.kernel_launch_s.value;
  cost.seconds = std::max(cost.overhead_s, cost.memory_s);
  return cost;
}

Explanation KernelModel::explain(const PartitionedBlock& block, const BlockStep& step) const {
  const KernelCost cost = price(block, step);
  Explanation out;
  if (cost.activity == Activity::gemm) {
    const GemmShape shape = gemm_shape(block.graph, step);
    out.formula =
        "t0 + (compute^p + memory^p)^(1/p), compute = FLOP / (peak clock e_c), memory = bytes / (bandwidth e_m)";
    out.numbers = fmt::format("{:g} x [{:g}, {:g}] x [{:g}, {:g}]: compute {}, memory {}", shape.batch, shape.m,
                              shape.k, shape.k, shape.n, format_seconds(cost.compute_s), format_seconds(cost.memory_s));
    out.inputs = {input("peak, FLOP/s", peak_, gpu_.peak_flops.at(precision_)),
                  input("compute efficiency e_c", fit_.compute_efficiency.value, fit_.compute_efficiency),
                  input("sustained share of the clock", sustained_, gpu_.sustained_share),
                  input("memory bandwidth, bytes/s", gpu_.memory_bandwidth.value, gpu_.memory_bandwidth),
                  input("memory efficiency e_m", fit_.memory_efficiency.value, fit_.memory_efficiency),
                  input("exponent p", fit_.exponent.value, fit_.exponent),
                  input("overhead t0, s", fit_.overhead_s.value, fit_.overhead_s)};
    return out;
  }
  const Explanation::Input bandwidth =
      input("memory bandwidth, bytes/s", gpu_.memory_bandwidth.value, gpu_.memory_bandwidth);
  const Explanation::Input share =
      input("bandwidth efficiency", gpu_.memory_bandwidth_efficiency.value, gpu_.memory_bandwidth_efficiency);
  const Explanation::Input launch = input("kernel launch, s", gpu_.kernel_launch_s.value, gpu_.kernel_launch_s);
  if (cost.activity == Activity::attention) {
    const double tokens = extent(step, Axis::kv_sequence);
    out.formula =
        "launch + max(executed FLOP / (peak clock e s / (s + s_half)), bytes / (bandwidth efficiency)); a causal mask "
        "halves "
        "the executed FLOP";
    out.numbers = fmt::format("s = {:g}: compute {}, memory {}", tokens, format_seconds(cost.compute_s),
                              format_seconds(cost.memory_s));
    out.inputs = {
        input("peak, FLOP/s", peak_, gpu_.peak_flops.at(precision_)),
        input("attention efficiency e", gpu_.attention.efficiency.value, gpu_.attention.efficiency),
        input("half-efficiency tokens s_half", gpu_.attention.half_sequence.value, gpu_.attention.half_sequence),
        input("backward share", gpu_.attention.backward_share.value, gpu_.attention.backward_share),
        input("sustained share of the clock", sustained_, gpu_.sustained_share),
        bandwidth,
        share,
        launch};
    return out;
  }
  out.formula = "max(launch, bytes / (bandwidth efficiency))";
  out.numbers = fmt::format("{}: memory {}", format_bytes(cost.bytes), format_seconds(cost.memory_s));
  out.inputs = {bandwidth, share, launch};
  return out;
}

double busy_power_w(const GpuSpec& gpu) { return gpu.tdp_w.value; }

}  // namespace mirfak
