#include "program/blocks_of_job.hpp"

#include "model/backward.hpp"
#include "model/blocks.hpp"
#include "program/data_parallel.hpp"
#include "sharding/axis_rules.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// One program for all stages: fused only where every GPU of the cluster has such a kernel.
bool has_fused_attention(const Job& job) {
  const auto groups = job.cluster.groups();
  return job.framework.fused_attention && std::all_of(groups.begin(), groups.end(), [](const NodeGroup& group) {
           return group.hardware.gpu.attention.efficiency.value > 0;
         });
}

BlockOptions block_options(const Job& job) {
  const Framework& framework = job.framework;
  const std::int64_t padding = std::int64_t{framework.vocabulary_multiple} * job.strategy.tensor;
  BlockOptions options;
  options.batch = std::int64_t{job.strategy.micro_batch} * job.strategy.data;
  options.sequence = job.training.sequence_length;
  options.kv_heads = std::max<std::int64_t>(job.model.kv_heads, job.strategy.tensor);  // replicated where too few
  if (options.kv_heads > job.model.heads) options.kv_heads = job.model.heads;
  options.vocabulary = (job.model.vocab + padding - 1) / padding * padding;
  options.element_bytes = bytes_per_element(job.precision());
  options.dropout = job.model.dropout > 0;
  options.adapters = job.training.adapters;
  options.fused_attention = has_fused_attention(job);
  options.fused_softmax = framework.fused_softmax;
  options.fused_bias_activation = framework.fused_bias_activation;
  options.fused_bias_dropout_add = framework.fused_bias_dropout_add;
  options.fused_rotary = framework.fused_rotary;
  options.fused_cross_entropy = framework.fused_cross_entropy;
  return options;
}

// Gradients that are reduced behind every pass do not accumulate whole: backward writes them as they are computed.
BackwardOptions backward_options(const Job& job) {
  if (data_parallel_plan(job).gathers_in_passes()) return {bytes_per_element(job.precision()), true};
  return {gradient_bytes(job), job.framework.fused_gradient_accumulation};
}

std::vector<TensorId> dropped_tensors(const OperatorGraph& layer, Recompute recompute) {
  switch (recompute) {
    case Recompute::none:
      return {};
    case Recompute::selective:
      return attention_core_tensors(layer);
    case Recompute::full:
      return all_activations(layer);
  }
  return {};
}

// Turns a block's steps into a body. Shifts and collectives that the framework overlaps depend on data alone; the
// others block: they start after the kernel before them, and nothing starts before they have ended.
class BodyWriter {
 public:
  BodyWriter(const Job& job, const PartitionedBlock& block, const StageCosts& costs)
      : job_(job), block_(block), costs_(costs) {}

  void append(const std::vector<BlockStep>& steps, bool recomputing) {
    const int offset = static_cast<int>(body_.steps.size());
    if (offset > 0) barrier_ = offset - 1;
    for (const BlockStep& step : steps) {
      const bool collective = step.kind == BlockStep::Kind::collective;
      BodyStep priced = collective ? price_collective(step) : price_kernel(step);
      const bool forward = step.phase == Phase::forward;
      if (!collective)
        priced.host = to_picoseconds(forward ? job_.framework.host_forward_s : job_.framework.host_backward_s);
      if (recomputing) priced.name = "recompute_" + priced.name;
      for (const int before : step.after) priced.after.push_back(before + offset);
      const bool blocks = collective && step.collective != CollectiveKind::shift &&
                          (forward || !job_.framework.overlap_tensor_gradients);
      const int index = static_cast<int>(body_.steps.size());
      if (barrier_ >= 0) priced.after.push_back(barrier_);
      if (blocks && index > 0) priced.after.push_back(index - 1);
      if (blocks) barrier_ = index;
      body_.steps.push_back(std::move(priced));
    }
  }

  Body take() { return std::move(body_); }

 private:
  BodyStep price_kernel(const BlockStep& step) const {
    const KernelCost cost = costs_.kernels.price(block_, step);
    const GpuSpec& gpu = costs_.hardware.hardware.gpu;
    BodyStep out;
    out.name = block_.graph.op(step.op).name;
    out.stream = StreamKind::compute;
    out.activity = cost.activity;
    out.device = to_picoseconds(cost.seconds);
    out.flop = cost.flop;
    out.bytes = cost.bytes;
    out.energy_j = (busy_power_w(gpu) - gpu.blocked_w.value) * cost.seconds;
    return out;
  }

  BodyStep price_collective(const BlockStep& step) const {
    const CommunicationCost cost =
        costs_.communication.price(step.collective, step.bytes, costs_.group_over(step.over));
    const bool context = step.over == MeshAxis::context;
    BodyStep out;
    out.name = std::string(name_of(step.collective)) + " " + block_.graph.tensor(step.tensor).name;
    out.stream = context ? StreamKind::context : StreamKind::tensor;
    out.activity = context ? Activity::context_communication : Activity::tensor_communication;
    out.device = to_picoseconds(cost.seconds);
    out.host = to_picoseconds(job_.framework.host_collective_s);
    out.bytes = cost.bytes_sent;
    return out;
  }

  const Job& job_;
  const PartitionedBlock& block_;
  const StageCosts& costs_;
  Body body_;
  int barrier_ = -1;  // the step that everything after it waits for
};

}  // namespace

ShardedBlocks shard_blocks(const Job& job) {
  const BlockOptions options = block_options(job);
  const DeviceMesh mesh = mesh_of(job.strategy);
  const std::vector<AxisRule> rules = axis_rules(job.strategy);
  const BackwardOptions backward = backward_options(job);
  ShardedBlocks blocks;
  const auto add = [&](OperatorGraph forward, Recompute recompute) {
    OperatorGraph graph = with_backward(std::move(forward), backward);
    const std::vector<TensorId> dropped = dropped_tensors(graph, recompute);
    blocks.all.push_back(partition(std::move(graph), mesh, rules, dropped));
  };
  add(build_embedding_block(job.model, options), Recompute::none);
  for (const LayerKind& kind : layer_kinds(job.model)) {
    add(build_layer_block(job.model, options, kind), job.strategy.recompute);
  }
  add(build_head_block(job.model, options), Recompute::none);
  return blocks;
}

StageCosts::StageCosts(const Job& job, int stage)
    : hardware(job.hardware_of(stage)),
      kernels(hardware.hardware.gpu, job.precision()),
      communication(hardware.hardware, job.cluster.fabric()),
      tensor_group(communication_group(job.cluster, job.tensor_group(stage))),
      context_group(communication_group(job.cluster, job.context_group(stage))),
      data_group(communication_group(job.cluster, job.data_group(stage))),
      shard_group(communication_group(job.cluster, job.shard_group(stage))),
      across_group(communication_group(job.cluster, job.across_group(stage))) {}

const CommunicationGroup& StageCosts::group_over(MeshAxis axis) const {
  switch (axis) {
    case MeshAxis::data:
      return data_group;
    case MeshAxis::context:
      return context_group;
    case MeshAxis::tensor:
      break;
  }
  return tensor_group;
}

// Products with frozen weights, whose weight gradients nobody computes.
double frozen_flop(const PartitionedBlock& block, const StageCosts& costs) {
  double flop = 0;
  for (const BlockStep& step : block.forward) {
    if (step.kind != BlockStep::Kind::kernel) continue;
    const Operator& op = block.graph.op(step.op);
    const bool frozen = std::any_of(op.inputs.begin(), op.inputs.end(),
                                    [&](const Operand& input) { return block.graph.tensor(input.tensor).frozen; });
    if (frozen) flop += costs.kernels.price(block, step).flop;
  }
  return flop;
}

BlockBodies price_block(const Job& job, const PartitionedBlock& block, const StageCosts& costs) {
  BlockBodies out;
  BodyWriter forward(job, block, costs);
  forward.append(block.forward, false);
  out.forward = forward.take();
  BodyWriter backward(job, block, costs);
  backward.append(block.recompute, true);
  backward.append(block.backward, false);
  out.backward = backward.take();
  out.folded_forward = fold(out.forward);
  out.folded_backward = fold(out.backward);
  out.model_flop = 3 * out.folded_forward.flop - frozen_flop(block, costs);
  return out;
}

}  // namespace mirfak
