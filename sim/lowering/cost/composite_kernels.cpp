#include "cost/composite_kernels.hpp"

#include "cluster/memory_draw.hpp"
#include "cost/scan_model.hpp"
#include "sharding/row_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

double product(const AxisLabels& labels, const BlockStep& step) {
  double out = 1;
  for (const Axis label : labels) out *= extent(step, label);
  return out;
}

ScanShape scan_shape(const OperatorGraph& graph, const BlockStep& step) {
  const Operator& op = graph.op(step.op);
  const ScanLabels labels = classify_scan(graph, op);
  ScanShape shape;
  shape.batch = product(labels.batch, step);
  shape.tokens = extent(step, labels.tokens);
  shape.chunk = std::min(static_cast<double>(op.chunk), shape.tokens);
  shape.groups = product(labels.groups, step);
  shape.heads = shape.groups * product(labels.heads, step);
  shape.width = product(labels.width, step);
  shape.state = extent(step, labels.state);
  return shape;
}

}  // namespace

void add_cost(KernelCost& sum, const KernelCost& part) {
  for (double KernelCost::*number :
       {&KernelCost::seconds, &KernelCost::flop, &KernelCost::executed_flop, &KernelCost::bytes, &KernelCost::compute_s,
        &KernelCost::memory_s, &KernelCost::overhead_s}) {
    sum.*number += part.*number;
  }
  const double clocked_s = sum.clocked_s + part.clocked_s;
  if (clocked_s > 0) sum.draw = (sum.draw * sum.clocked_s + part.draw * part.clocked_s) / clocked_s;
  sum.clocked_s = clocked_s;
}

double experts_on_device(const OperatorGraph& graph, const BlockStep& step) {
  for (const Axis label : graph.op(step.op).inputs.front().labels) {
    if (graph.divided_by(label) == Parallelism::experts) return extent(step, label);
  }
  return 1;
}

KernelCost price_scan(const KernelModel& model, const OperatorGraph& graph, const BlockStep& step) {
  const Operator& op = graph.op(step.op);
  const Operand& x = op.phase == Phase::forward ? op.inputs.front() : op.outputs.front();
  KernelCost out;
  const double element_bytes = graph.tensor(x.tensor).bytes_per_element;
  for (const ScanKernel& kernel : scan_kernels(scan_shape(graph, step), element_bytes, op.phase != Phase::forward)) {
    const bool pass = kernel.product.flop() == 0;
    add_cost(out, pass ? model.price_memory_bound(kernel.bytes) : model.price_gemm(kernel.product, kernel.bytes));
  }
  out.activity = 2 * out.clocked_s > out.seconds ? Activity::gemm : Activity::memory_bound;
  return out;
}

KernelCost price_plain_kernel(const KernelModel& model, double bytes, double cycles, Launch launch) {
  KernelCost cost = model.price_memory_bound(bytes, OperatorKind::elementwise, launch);
  const GpuSpec& gpu = model.gpu();
  const double issued_s = cycles / (gpu.multiprocessors * gpu.clock_peak_hz.value / model.time_factor());
  if (issued_s <= cost.memory_s) return cost;
  cost.clocked_s = issued_s;
  cost.draw = kMemoryBoundDraw;
  cost.seconds = cost.overhead_s + issued_s / model.clock_share();
  return cost;
}

KernelCost price_plain_kernels(const KernelModel& model, const OperatorGraph& graph, const BlockStep& step,
                               Launch launch) {
  const double elements = largest_operand(graph, step);
  const double experts = experts_on_device(graph, step);
  KernelCost out;
  for (const PlainKernel& kernel : graph.op(step.op).kernels) {
    const double launches = kernel.per_expert ? experts : 1;
    const KernelCost cost =
        price_plain_kernel(model, elements * kernel.bytes / launches, elements * kernel.cycles / launches, launch);
    for (int i = 0; i < launches; ++i) add_cost(out, cost);
  }
  out.activity = Activity::memory_bound;
  return out;
}

double launches_of_plain_kernels(const OperatorGraph& graph, const BlockStep& step) {
  const double experts = experts_on_device(graph, step);
  double launches = 0;
  for (const PlainKernel& kernel : graph.op(step.op).kernels) launches += kernel.per_expert ? experts : 1;
  return launches;
}

KernelCost price_custom(const KernelModel& model, const OperatorGraph& graph, const BlockStep& step, Launch launch) {
  const Operator& op = graph.op(step.op);
  double share = 1;
  AxisSet seen;
  for (const Operand& input : op.inputs) {
    if (graph.tensor(input.tensor).repeated_along) share = graph.tensor(input.tensor).repeats;
  }
  for (const std::vector<Operand>* operands : {&op.inputs, &op.outputs}) {
    for (const Operand& operand : *operands) {
      for (const Axis label : operand.labels) {
        if (seen.contains(label)) continue;
        seen.insert(label);
        share *= extent(step, label) / static_cast<double>(graph.extent(label));
      }
    }
  }
  KernelCost cost = model.price_memory_bound(op.custom.bytes * share, OperatorKind::custom, launch);
  cost.flop = cost.executed_flop = op.custom.flop * share;
  cost.compute_s = cost.flop / model.peak_flops() * model.time_factor();
  if (cost.compute_s <= cost.memory_s) return cost;
  cost.activity = Activity::gemm;
  cost.clocked_s = cost.compute_s;
  cost.draw = kMemoryBoundDraw;
  cost.seconds = cost.overhead_s + cost.compute_s / model.clock_share();
  return cost;
}

namespace {

// Bytes that kernels other than the products move to add the chunks' gradients of a weight.
double added_bytes(const OperatorGraph& graph, const BlockStep& step) {
  const Operator& op = graph.op(step.op);
  if (op.kind != OperatorKind::einsum || op.phase != Phase::weight_gradient) return 0;
  return product(op.outputs.front().labels, step) * graph.chunks.gradient_bytes * (row_chunks_of(graph, step) - 1);
}

}  // namespace

double cast_bytes(const OperatorGraph& graph, const BlockStep& step) {
  const Operator& op = graph.op(step.op);
  if (!op.in_chunks || op.kind != OperatorKind::einsum || op.phase != Phase::forward) return 0;
  double weights = 0;
  for (const Operand& input : op.inputs) {
    if (graph.tensor(input.tensor).role == TensorRole::parameter) weights += product(input.labels, step);
  }
  return weights * graph.chunks.weight_bytes;
}

KernelCost price_chunks(const KernelModel& model, const PartitionedBlock& block, const BlockStep& step, Launch launch) {
  const double chunks = chunks_of(block.graph, step);
  KernelCost cost = model.price(block, chunk_of(block.graph, step), launch);
  for (double KernelCost::*part :
       {&KernelCost::seconds, &KernelCost::flop, &KernelCost::executed_flop, &KernelCost::bytes, &KernelCost::compute_s,
        &KernelCost::memory_s, &KernelCost::overhead_s, &KernelCost::clocked_s}) {
    cost.*part *= chunks;
  }
  const double added = added_bytes(block.graph, step);
  if (added > 0) add_cost(cost, model.price_memory_bound(added, OperatorKind::elementwise, launch));
  return cost;
}

Explanation explain_chunks(const KernelModel& model, const PartitionedBlock& block, const BlockStep& step) {
  const double chunks = chunks_of(block.graph, step);
  const BlockStep chunk = chunk_of(block.graph, step);
  Explanation out = model.explain(block, chunk);
  out.formula += ", times the chunks";
  out.numbers = fmt::format("{:.4g} chunks, each {}", chunks, out.numbers);
  const std::string one =
      out.evaluation.empty() ? fmt::format("{:.6g}", model.price(block, chunk).seconds) : out.evaluation;
  out.evaluation = fmt::format("({}) * {:.6g}", one, chunks);
  const double added = added_bytes(block.graph, step);
  if (added <= 0) return out;
  const KernelCost sum = model.price_memory_bound(added, OperatorKind::elementwise);
  out.formula += ", and the additions of their gradients";
  out.numbers += fmt::format("; additions {:.4g} s", sum.seconds);
  out.evaluation += fmt::format(" + {:.6g}", sum.seconds);
  return out;
}

}  // namespace mirfak
