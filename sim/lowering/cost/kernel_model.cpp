#include "cost/kernel_model.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "cost/cache_share.hpp"
#include "cost/composite_kernels.hpp"
#include "cost/power_limit.hpp"
#include "sharding/row_chunks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr int kPieceStreams = 3;  // streams of a product in pieces: Transformer Engine's num_max_streams

template <typename Labels>
double product(const Labels& labels, const AxisExtents& local) {
  double out = 1;
  for (const Axis label : labels) out *= static_cast<double>(local[index_of(label)]);
  return out;
}

// Returns the number of elements of an operand that exist on one device.
double elements(const OperatorGraph& graph, const Operand& operand, const AxisExtents& local) {
  const Tensor& tensor = graph.tensor(operand.tensor);
  return product(operand.labels, local) * tensor.density * tensor.repeats;
}

// Interval of dependent small kernels in a CUDA graph over their interval in a stream: 1.3 and 2.4 us on an H200, 1.0
// and 1.6 us on an L40 (te42kyfo/gpu-benches gpu-small-kernels).
constexpr double kGraphShare = 1.3 / 2.4;

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

const char* memory_formula(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::scan:
      return "sum over the kernels of the scan, each a product or launch + bytes / (bandwidth efficiency): products at "
             "the full clock / clock + the rest";
    case OperatorKind::custom:
      return "launch + max(stated bytes / (bandwidth efficiency), stated FLOP / peak / clock)";
    default:
      return "launch and latency + bytes / (bandwidth efficiency share) (1 - cached + cached / speedup), cached what "
             "the second-level cache holds";
  }
}

}  // namespace

GemmShape gemm_shape(const OperatorGraph& graph, const BlockStep& step) {
  const Operator& op = graph.op(step.op);
  const EinsumLabels labels = classify_labels(op);
  double density = 1;
  std::optional<Axis> sparse_along;
  double repeats = 1;
  std::optional<Axis> repeated_along;
  for (const Operand& operand : op.inputs) {
    const Tensor& tensor = graph.tensor(operand.tensor);
    if (tensor.repeated_along) {
      repeats = tensor.repeats;
      repeated_along = tensor.repeated_along;
    }
    if (tensor.density >= density) continue;
    density = tensor.density;
    sparse_along = tensor.sparse_along;
  }
  const auto repeated = [&](const AxisLabels& of) {
    return product(of, step.local) * (repeated_along && of.contains(*repeated_along) ? repeats : 1);
  };
  // Counts only rows of tokens that exist: an expert's rows are those of the tokens that visit it.
  const auto existing = [&](const AxisLabels& of) {
    return repeated(of) * (sparse_along && of.contains(*sparse_along) ? density : 1);
  };
  return {repeated(labels.batch), existing(labels.rows), existing(labels.columns), existing(labels.contracted)};
}

double largest_operand(const OperatorGraph& graph, const BlockStep& step) {
  double largest = 0;
  for (const std::vector<Operand>* operands : {&graph.op(step.op).inputs, &graph.op(step.op).outputs}) {
    for (const Operand& operand : *operands) largest = std::max(largest, elements(graph, operand, step.local));
  }
  return largest;
}

AttentionShape whole_attention_shape(const OperatorGraph& graph, const BlockStep& step) {
  const Operator& op = graph.op(step.op);
  const AttentionLabels labels = classify_attention(graph, op);
  AttentionShape shape;
  shape.batch = product(labels.batch, step.local) * graph.tensor(op.inputs.front().tensor).repeats;
  shape.queries = extent(step, labels.queries);
  shape.keys = extent(step, labels.keys);
  shape.kv_heads = product(labels.kv_heads, step.local);
  shape.heads = shape.kv_heads * product(labels.groups, step.local);
  shape.head_dim = extent(step, labels.width);
  if (!labels.value.empty()) shape.value_dim = product(labels.value, step.local);
  shape.causal = op.causal;
  if (step.pieces == 1 && op.window > 0) shape.window = static_cast<double>(op.window);
  shape.documents = op.documents;
  return shape;
}

AttentionShape attention_shape(const OperatorGraph& graph, const BlockStep& step) {
  const AttentionLabels labels = classify_attention(graph, graph.op(step.op));
  AttentionShape shape = whole_attention_shape(graph, step);
  const auto with_documents = [&](AttentionShape of) {
    const double share = of.queries / static_cast<double>(graph.extent(labels.queries));
    for (DocumentLength& document : of.documents) document.tokens *= share;
    return of;
  };
  if (!shape.causal || (step.piece == 0 && shape.queries == shape.keys)) return with_documents(std::move(shape));
  const double seen = shape.window > 0 ? shape.window : shape.keys;
  shape.causal = false;
  shape.window = 0;
  if (step.piece > 0) {
    shape.queries = std::ceil(shape.queries / 2);
  } else {
    shape.keys = std::min(seen, std::ceil(shape.keys / 2));
  }
  return with_documents(std::move(shape));
}

namespace {

// True for products without rows or without columns of their own, whatever the number of taps: depthwise convolutions.
bool moves_more_than_it_multiplies(const Operator& op) {
  AxisSet taps;
  for (const std::vector<Operand>* operands : {&op.inputs, &op.outputs}) {
    for (const Operand& operand : *operands) {
      for (const Window& window : operand.windows) taps.insert(window.tap);
    }
  }
  const EinsumLabels labels = classify_labels(op);
  return AxisSet(labels.rows).without(taps).empty() || AxisSet(labels.columns).without(taps).empty();
}

}  // namespace

KernelModel::Products::Products(const GpuSpec& gpu, Precision of, bool in_blocks)
    : precision(of),
      scales_blocks(in_blocks),
      peak(peak_of(gpu, of)),
      model(gpu, of, gpu.gemm_fit(of).constants, in_blocks ? gpu.block_scaled_rate.value : 1) {}

KernelModel::KernelModel(const GpuSpec& gpu, const KernelPrecision& precision,
                         std::span<const std::string> attention_kernels)
    : gpu_(&gpu),
      wide_(gpu, precision.wide, false),
      narrow_(gpu, precision.narrow, precision.narrow_in_blocks),
      stream_bandwidth_(gpu.memory_bandwidth.value * gpu.memory_bandwidth_efficiency.value) {
  if (const AttentionFit* fit = attention_fit(gpu, attention_kernels)) attention_.emplace(gpu, *fit, precision.wide);
}

double KernelModel::kernel_bytes(const OperatorGraph& graph, const BlockStep& step) const {
  const Operator& op = graph.op(step.op);
  double bytes = 0;
  const auto add = [&](const std::vector<Operand>& operands) {
    for (const Operand& operand : operands) {
      bytes += elements(graph, operand, step.local) * graph.tensor(operand.tensor).bytes_per_element;
    }
  };
  add(op.inputs);
  add(op.outputs);
  // A product that adds a chunk's gradient to those before reads these.
  const bool adds = op.in_chunks && op.kind == OperatorKind::einsum && op.phase == Phase::weight_gradient;
  if (adds && graph.chunks.gradient_bytes == 0) add(op.outputs);
  // An embedding reads the rows it needs, not its table.
  if (op.kind == OperatorKind::gather) {
    const Operand& table = op.inputs.front();
    bytes -= elements(graph, table, step.local) * graph.tensor(table.tensor).bytes_per_element;
    bytes += product(op.outputs.front().labels, step.local) * graph.tensor(table.tensor).bytes_per_element;
  }
  if (op.kernels.empty()) return bytes * op.passes;
  double of_element = 0;
  for (const PlainKernel& kernel : op.kernels) of_element += kernel.bytes;
  return of_element * largest_operand(graph, step);
}

KernelCost KernelModel::price(const PartitionedBlock& block, const BlockStep& step, Launch launch) const {
  if (chunks_of(block.graph, step) > 1) return price_chunks(*this, block, step, launch);
  KernelCost cost = price_alone(block, step, launch);
  const double cast = cast_bytes(block.graph, step);
  if (cast > 0) add_cost(cost, price_memory_bound(cast, OperatorKind::elementwise, launch));
  if (around_ == nullptr) return cost;
  const KernelCost around = price_surroundings(block.graph, step, launch);
  cost.seconds += around.seconds;
  cost.bytes += around.bytes;
  return cost;
}

KernelCost KernelModel::price_surroundings(const OperatorGraph& graph, const BlockStep& step, Launch launch) const {
  KernelCost cost;
  if (around_ == nullptr) return cost;
  const SurroundingTraffic traffic = surrounding_traffic(*around_, graph, step);
  const auto add = [&](double bytes, double kernels) {
    if (bytes <= 0) return;
    const KernelCost one = price_memory_bound(bytes / kernels, OperatorKind::elementwise, launch);
    cost.seconds += kernels * one.seconds;
    cost.bytes += bytes;
  };
  add(traffic.copies, std::max(1.0, traffic.kernels));
  add(traffic.filled + filled_inside_attention(graph, step), 1);
  return cost;
}

// An ordered backward pass allocates its sums, and gradients of keys and values for each head of queries where heads
// share keys (flash_api.cpp, as AttentionModel cites it): these are filled like its results.
double KernelModel::filled_inside_attention(const OperatorGraph& graph, const BlockStep& step) const {
  const Operator& op = graph.op(step.op);
  const bool backward = op.kind == OperatorKind::attention && op.phase != Phase::forward;
  if (!backward || !around_->fills_attention || !around_->ordered_attention) return 0;
  const AttentionShape shape = attention_call(graph, step);
  const double element = graph.tensor(op.inputs.front().tensor).bytes_per_element;
  const double queries = shape.batch * shape.queries * shape.heads * shape.head_dim;
  const double expanded =
      shape.heads == shape.kv_heads ? 0 : 2 * shape.batch * shape.keys * shape.heads * shape.head_dim;
  return bytes_per_element(Precision::fp32) * attention().ordered_parts(shape) * queries + element * expanded;
}

KernelCost KernelModel::price_alone(const PartitionedBlock& block, const BlockStep& step, Launch launch) const {
  const double bytes = kernel_bytes(block.graph, step);
  switch (block.graph.op(step.op).kind) {
    case OperatorKind::einsum:
      return price_product(block.graph, step, bytes);
    case OperatorKind::attention:
      return with_earlier_pieces(price_attention(block.graph, step, bytes), block.graph, step);
    case OperatorKind::scan:
      return price_scan(*this, block.graph, step);
    case OperatorKind::custom:
      return price_custom(*this, block.graph, step, launch);
    default:
      if (!block.graph.op(step.op).kernels.empty()) return price_plain_kernels(*this, block.graph, step, launch);
      return price_memory_bound(bytes, block.graph.op(step.op).kind, launch);
  }
}

// Pieces of a product run on kPieceStreams streams: one piece fills the time that the launch and the last wave of
// another leave idle, and kPieceStreams pieces together take as long as one product of their size.
KernelCost KernelModel::price_product(const OperatorGraph& graph, const BlockStep& step, double bytes) const {
  const Products& products = products_of(graph.op(step.op));
  GemmShape shape = gemm_shape(graph, step);
  if (moves_more_than_it_multiplies(graph.op(step.op))) {
    KernelCost cost = price_memory_bound(bytes);
    cost.flop = cost.executed_flop = shape.flop();
    return cost;
  }
  if (step.pieces == 1) return corrected(products.price(shape, bytes, clock_));
  const double pieces = std::min(step.pieces, kPieceStreams);
  shape.m *= pieces;
  KernelCost cost = corrected(products.price(shape, bytes * pieces, clock_));
  for (double KernelCost::*part :
       {&KernelCost::seconds, &KernelCost::flop, &KernelCost::executed_flop, &KernelCost::bytes, &KernelCost::compute_s,
        &KernelCost::memory_s, &KernelCost::overhead_s, &KernelCost::clocked_s}) {
    cost.*part /= pieces;
  }
  return cost;
}

KernelCost KernelModel::Products::price(const GemmShape& shape, double bytes, double clock) const {
  const GemmTime time = model.time(shape, bytes, clock);
  KernelCost cost;
  cost.activity = Activity::gemm;
  cost.flop = cost.executed_flop = shape.flop();
  cost.bytes = bytes;
  cost.compute_s = time.tiling.seconds;
  cost.memory_s = time.memory_s;
  cost.overhead_s = time.overhead_s;
  cost.clocked_s = time.busy_s;
  cost.draw = time.draw;
  cost.seconds = time.seconds;
  return cost;
}

const AttentionModel& KernelModel::attention() const {
  if (!attention_) {
    fail_infeasible({}, gpu_->name + " has no kernel for the fused attention of this framework",
                    "choose a framework whose attention runs there, or leave these nodes out");
  }
  return *attention_;
}

// Queries that see gathered keys run as two calls at once, one for the early and one for the late tokens.
AttentionShape KernelModel::attention_call(const OperatorGraph& graph, const BlockStep& step) const {
  AttentionShape shape = attention_shape(graph, step);
  if (around_ == nullptr || !around_->ordered_attention) return shape;
  shape.ordered = true;
  if (around_->gathers_keys && shape.documents.empty()) shape.calls = 2;
  return shape;
}

KernelCost KernelModel::price_attention(const OperatorGraph& graph, const BlockStep& step, double bytes) const {
  const Operator& op = graph.op(step.op);
  const AttentionShape shape = attention_call(graph, step);
  const AttentionLabels labels = classify_attention(graph, op);
  const double flop = op.matmuls * 2 * shape.batch * shape.heads * extent(step, labels.queries) *
                      extent(step, labels.keys) * shape.head_dim * share_of_pairs(shape);
  return price_attention(shape, op.phase != Phase::forward, flop, bytes);
}

KernelCost KernelModel::price_attention(const AttentionShape& shape, bool backward, double flop, double bytes) const {
  const AttentionCost priced = backward ? attention().backward(shape, clock_) : attention().forward(shape, clock_);
  KernelCost cost;
  cost.activity = Activity::attention;
  cost.flop = flop;
  cost.executed_flop = std::min(cost.flop, priced.executed_flop);  // work on the padding of tiles is not counted
  cost.bytes = bytes;
  cost.compute_s = priced.compute_s;
  cost.memory_s = priced.memory_s;
  cost.overhead_s = priced.overhead_s;
  cost.clocked_s = priced.clocked_s;
  cost.draw = priced.draw;
  cost.seconds = priced.seconds;
  return corrected(cost);
}

KernelCost KernelModel::corrected(KernelCost cost) const {
  if (time_factor_ == 1) return cost;
  for (double KernelCost::*part : {&KernelCost::seconds, &KernelCost::compute_s, &KernelCost::memory_s,
                                   &KernelCost::overhead_s, &KernelCost::clocked_s}) {
    cost.*part *= time_factor_;
  }
  return cost;
}

// Adds the traffic of the sum: a kernel reads its results and the results of the pieces before it, rescales and writes
// the sum. Causal work is balanced over devices by pairing early tokens with late ones (Megatron Core: 2 cp chunks), so
// that a later piece has half of the queries or half of the keys: three quarters of the results on average.
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

const Figure* KernelModel::kind_share(OperatorKind kind) const {
  const MemoryKernels& kernels = gpu_->memory_kernels;
  switch (kind) {
    case OperatorKind::normalization:
      return &kernels.normalization;
    case OperatorKind::softmax:
      return &kernels.softmax;
    case OperatorKind::reduction:
      return &kernels.reduction;
    case OperatorKind::gather:
    case OperatorKind::scatter:
      return &kernels.gather;
    default:
      return nullptr;
  }
}

const Figure& KernelModel::kind_latency(OperatorKind kind) const {
  const MemoryKernels& kernels = gpu_->memory_kernels;
  switch (kind) {
    case OperatorKind::normalization:
      return kernels.normalization_latency_s;
    case OperatorKind::softmax:
      return kernels.softmax_latency_s;
    case OperatorKind::reduction:
      return kernels.reduction_latency_s;
    case OperatorKind::gather:
    case OperatorKind::scatter:
      return kernels.gather_latency_s;
    default:
      return kernels.streaming_latency_s;
  }
}

KernelCost KernelModel::price_memory_bound(double bytes, OperatorKind kind, Launch launch) const {
  const Figure* share = kind_share(kind);
  const double cached = share_in_cache(bytes / gpu_->l2_bytes.value);
  const double per_byte = (1 - cached + cached / gpu_->memory_kernels.cached_speedup.value) / stream_bandwidth_;
  KernelCost cost;
  cost.activity = Activity::memory_bound;
  cost.bytes = bytes;
  cost.memory_s = bytes * per_byte / (share == nullptr ? 1 : share->value);
  cost.overhead_s =
      gpu_->kernel_launch_s.value * (launch == Launch::graph ? kGraphShare : 1) + kind_latency(kind).value;
  cost.seconds = cost.overhead_s + cost.memory_s;
  return corrected(cost);
}

Explanation KernelModel::explain_product(const OperatorGraph& graph, const BlockStep& step) const {
  const Products& products = products_of(graph.op(step.op));
  GemmShape shape = gemm_shape(graph, step);
  const double pieces = std::min(step.pieces, kPieceStreams);  // as in price_product()
  shape.m *= pieces;
  const GemmTime time = products.model.time(shape, pieces * kernel_bytes(graph, step), clock_);
  const GemmTiling& tiling = time.tiling;
  const std::string splits = tiling.splits > 1 ? fmt::format(" in {} parts", tiling.splits) : "";
  Explanation out;
  out.formula =
      "overhead + (tiling^p + memory^p)^(1/p) / clock, tiling = waves (2 a b k / (peak/S e_ab) + overhead of a tile), "
      "memory = bytes / (bandwidth e_m)";
  out.numbers = fmt::format(
      "{:g} x [{:g}, {:g}] x [{:g}, {:g}]: {:.2f} waves of {} x {} tiles{}, compute {}, "
      "memory {}, clock {:.1f} %",
      shape.batch, shape.m, shape.k, shape.k, shape.n, tiling.waves, tiling.rows, tiling.columns, splits,
      format_seconds(tiling.seconds), format_seconds(time.memory_s), 100 * time.clock_share);
  const double p = products.model.constants().exponent;
  out.evaluation = fmt::format("{:.6g} + ({:.6g}^{:.6g} + {:.6g}^{:.6g})^(1/{:.6g}) / {:.6g}", time.overhead_s,
                               tiling.seconds, p, time.memory_s, p, p, time.clock_share);
  if (pieces > 1) {
    out.numbers += fmt::format(", {:g} pieces at once", pieces);
    out.evaluation = fmt::format("({}) / {:g}", out.evaluation, pieces);
  }
  out.inputs = {input("peak, FLOP/s", products.peak, gpu_->peak_flops.at(products.precision)),
                input("memory bandwidth, bytes/s", gpu_->memory_bandwidth.value, gpu_->memory_bandwidth)};
  const GemmFit& fit = gpu_->gemm_fit(products.precision);
  for (std::size_t i = 0; i < kGemmConstants.size(); ++i) {
    const GemmConstantKey& key = kGemmConstants[i];
    if (key.of_casts) continue;
    out.inputs.push_back({std::string(key.name), fmt::format("{:.4g}", fit.constants.*key.value), fit.sources[i]});
  }
  if (products.scales_blocks) {
    out.inputs.push_back(
        input("block_scaled_rate, of the peak", gpu_->block_scaled_rate.value, gpu_->block_scaled_rate));
  }
  return out;
}

namespace {

std::string evaluation_of_parts(const KernelCost& cost, double clock) {
  const double rest = cost.seconds - cost.clocked_s / clock;
  return fmt::format("{:.6g} / {:.6g} + {:.6g}", cost.clocked_s, clock, rest);
}

std::string evaluation_of_stream(const KernelCost& cost, const GpuSpec& gpu, const Figure* share) {
  const double cached = share_in_cache(cost.bytes / gpu.l2_bytes.value);
  return fmt::format("{:.6g} + {:.6g} / ({:.6g} * {:.6g}{}) * (1 - {:.6g} + {:.6g} / {:.6g})", cost.overhead_s,
                     cost.bytes, gpu.memory_bandwidth.value, gpu.memory_bandwidth_efficiency.value,
                     share == nullptr ? "" : fmt::format(" * {:.6g}", share->value), cached, cached,
                     gpu.memory_kernels.cached_speedup.value);
}

// Formula with numbers; for a call bound by memory it contains all traffic.
std::string evaluation_of_attention(const AttentionCost& cost) {
  if (cost.clocked_s == 0) return fmt::format("{:.6g} + {:.6g}", cost.overhead_s, cost.seconds - cost.overhead_s);
  return fmt::format("{:.6g} + {:.6g} + {:.6g}", cost.overhead_s, cost.compute_s, cost.memory_s);
}

}  // namespace

Explanation KernelModel::explain(const PartitionedBlock& block, const BlockStep& step) const {
  if (time_factor_ == 1) return explain_uncorrected(block, step);
  KernelModel plain = *this;
  plain.set_time_factor(1);
  return mirfak::corrected(plain.explain_uncorrected(block, step), time_factor_);
}

Explanation KernelModel::explain_uncorrected(const PartitionedBlock& block, const BlockStep& step) const {
  if (chunks_of(block.graph, step) > 1) return explain_chunks(*this, block, step);
  Explanation out = explain_alone(block, step);
  if (const double cast = cast_bytes(block.graph, step); cast > 0) {
    const double seconds = price_memory_bound(cast, OperatorKind::elementwise).seconds;
    out.numbers += fmt::format(", cast of the weight {}", format_seconds(seconds));
    if (!out.evaluation.empty()) out.evaluation += fmt::format(" + {:.6g}", seconds);
  }
  const KernelCost around = price_surroundings(block.graph, step, Launch::stream);
  if (around.seconds == 0) return out;
  out.numbers +=
      fmt::format(", copies and fills of {} around it {}", format_bytes(around.bytes), format_seconds(around.seconds));
  out.evaluation += fmt::format(" + {:.6g}", around.seconds);
  return out;
}

Explanation KernelModel::explain_alone(const PartitionedBlock& block, const BlockStep& step) const {
  const KernelCost cost = price_alone(block, step, Launch::stream);
  const Operator& op = block.graph.op(step.op);
  if (op.kind == OperatorKind::einsum && cost.activity == Activity::gemm) return explain_product(block.graph, step);
  Explanation out;
  const Explanation::Input bandwidth =
      input("memory bandwidth, bytes/s", gpu_->memory_bandwidth.value, gpu_->memory_bandwidth);
  const Explanation::Input share =
      input("bandwidth efficiency", gpu_->memory_bandwidth_efficiency.value, gpu_->memory_bandwidth_efficiency);
  const Explanation::Input launch = input("kernel launch, s", gpu_->kernel_launch_s.value, gpu_->kernel_launch_s);
  if (op.kind == OperatorKind::attention) {
    explain_attention(block.graph, step, out);
    out.inputs.insert(out.inputs.end(), {bandwidth, share, launch});
    return out;
  }
  if (!op.kernels.empty()) {
    explain_plain_kernels(block.graph, step, cost, out);
    out.inputs.insert(out.inputs.begin(), {bandwidth, share, launch});
    return out;
  }
  out.formula = memory_formula(op.kind);
  out.evaluation = op.kind == OperatorKind::scan || op.kind == OperatorKind::custom
                       ? evaluation_of_parts(cost, clock_)
                       : evaluation_of_stream(cost, *gpu_,
                                              cost.activity == Activity::memory_bound && op.kind != OperatorKind::einsum
                                                  ? kind_share(op.kind)
                                                  : nullptr);
  out.numbers = fmt::format("{}: memory {}", format_bytes(cost.bytes), format_seconds(cost.memory_s));
  const Figure& speedup = gpu_->memory_kernels.cached_speedup;
  out.inputs = {bandwidth, share, launch, input("speedup in the second-level cache", speedup.value, speedup)};
  if (const Figure* kind = kind_share(op.kind)) {
    out.inputs.push_back(input("share of plain streaming", kind->value, *kind));
  }
  if (const Figure& latency = kind_latency(op.kind); latency.value > 0) {
    out.inputs.push_back(input("latency of the kind, s", latency.value, latency));
  }
  return out;
}

void KernelModel::explain_plain_kernels(const OperatorGraph& graph, const BlockStep& step, const KernelCost& cost,
                                        Explanation& out) const {
  const std::vector<PlainKernel>& kernels = graph.op(step.op).kernels;
  out.formula =
      "sum over the kernels of launch + max(bytes / (bandwidth efficiency) (1 - cached + cached / speedup), cycles / "
      "(multiprocessors peak clock) / clock) of all elements";
  std::vector<std::string> list;
  for (const PlainKernel& kernel : kernels) {
    const std::string cycles = kernel.cycles > 0 ? fmt::format(" or {:.3g} cycles", kernel.cycles) : "";
    list.push_back(fmt::format("{:g} B{}", kernel.bytes, cycles));
  }
  out.numbers = fmt::format("{:.4g} elements, {} kernels ({}): {}", largest_operand(graph, step), kernels.size(),
                            fmt::join(list, ", "), format_bytes(cost.bytes));
  out.evaluation = evaluation_of_parts(cost, clock_);
  const Figure& speedup = gpu_->memory_kernels.cached_speedup;
  out.inputs = {input("speedup in the second-level cache", speedup.value, speedup),
                {"multiprocessors", fmt::format("{}", gpu_->multiprocessors), "profile of " + gpu_->name},
                input("peak clock, Hz", gpu_->clock_peak_hz.value, gpu_->clock_peak_hz)};
}

void KernelModel::explain_attention(const OperatorGraph& graph, const BlockStep& step, Explanation& out) const {
  const AttentionShape shape = attention_call(graph, step);
  const bool forward = graph.op(step.op).phase == Phase::forward;
  const AttentionCost cost = forward ? attention().forward(shape, clock_) : attention().backward(shape, clock_);
  AttentionTiles between_two;
  const AttentionTiles& tiles = attention().tiles(shape.head_dim, between_two);
  const AttentionFit& fit = attention().fit();
  out.formula = "launches + max(makespan of the tiles + unhidden traffic, all traffic)";
  out.numbers = fmt::format("{:g} x {:g} heads of {:g}, {:g} queries, {:g} keys: compute {}, memory {}", shape.batch,
                            shape.heads, shape.head_dim, shape.queries, shape.keys, format_seconds(cost.compute_s),
                            format_seconds(cost.memory_s));
  if (!shape.documents.empty()) {
    out.numbers += fmt::format(", {:.3g} % of the pairs within documents", 100 * share_of_pairs(shape));
  }
  out.evaluation = evaluation_of_attention(cost);
  const double earlier_s = with_earlier_pieces({}, graph, step).seconds;
  if (earlier_s > 0) {
    out.numbers += ", and what earlier pieces found added to it " + format_seconds(earlier_s);
    out.evaluation += fmt::format(" + {:.6g}", earlier_s);
  }
  const Figure& efficiency = forward ? tiles.efficiency : tiles.backward_efficiency;
  const Figure& peak = attention().peak();
  out.inputs = {input("peak, FLOP/s", peak.value, peak), input("efficiency of a tile", efficiency.value, efficiency),
                input("ramp of a tile, s", tiles.ramp_s.value, tiles.ramp_s),
                input("tail, tiles", tiles.tail.value, tiles.tail),
                input("unhidden passes of Q and O", fit.io_passes.value, fit.io_passes)};
  if (!forward) out.inputs.push_back(input("passes of Q", fit.backward_passes.value, fit.backward_passes));
  out.inputs.push_back({"clock share", fmt::format("{:.4g}", clock_), "the power limit over all of a stage's kernels"});
}

double energy_above_waiting_j(const GpuSpec& gpu, const KernelClock& clock, const KernelCost& cost) {
  const ClockPower& power = gpu.clock_power;
  const double clocked_s = cost.clocked_s / clock.set;
  const double busy = gpu.throttle.draw(cost.draw * std::pow(clock.settled, kPowerExponent));
  const double share = clocked_s * busy + (cost.seconds - clocked_s) * memory_bound_draw(gpu.limit_share());
  const double set_lower = power.draw(clock.set) / power.draw(clock.settled);
  return gpu.tdp_w.value * share * set_lower - gpu.blocked_w.value * cost.seconds;
}

double energy_above_waiting_j(const KernelModel& model, const KernelCost& cost) {
  return energy_above_waiting_j(model.gpu(), {model.settled_share(), model.clock_share()}, cost);
}

}  // namespace mirfak
