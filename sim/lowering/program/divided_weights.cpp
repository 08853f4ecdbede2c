#include "program/divided_weights.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

namespace mirfak {

bool is_of_experts(const PartitionedBlock& block, const ParameterShard& parameter) {
  const Sharding& lies = block.shardings[static_cast<std::size_t>(parameter.tensor)];
  return std::any_of(lies.axes.begin(), lies.axes.end(), [](MeshAxisSet axes) {
    return axes.contains(MeshAxis::expert) || axes.contains(MeshAxis::context) || axes.contains(MeshAxis::heads);
  });
}

std::vector<bool> read_by_products(const OperatorGraph& graph) {
  std::vector<bool> out(graph.tensors.size());
  for (const Operator& op : graph.operators) {
    if (op.kind != OperatorKind::einsum && op.kind != OperatorKind::gather) continue;
    for (const Operand& input : op.inputs) out[static_cast<std::size_t>(input.tensor)] = true;
  }
  return out;
}

namespace {

// By TensorId: true for weights that can be divided, which are not those that score the experts of a token.
std::vector<bool> dividable(const OperatorGraph& graph) {
  std::vector<bool> scores(graph.tensors.size());
  for (const Operator& op : graph.operators) {
    if (op.function != "route" || op.phase != Phase::forward) continue;
    for (const Operand& input : op.inputs) scores[static_cast<std::size_t>(input.tensor)] = true;
  }
  std::vector<bool> out = read_by_products(graph);
  for (const Operator& op : graph.operators) {
    if (op.kind != OperatorKind::einsum || op.phase != Phase::forward) continue;
    if (!scores[static_cast<std::size_t>(op.outputs.front().tensor)]) continue;
    for (const Operand& input : op.inputs) out[static_cast<std::size_t>(input.tensor)] = false;
  }
  return out;
}

void add(HeldParameters& to, double elements, bool of_experts) {
  (of_experts ? to.experts : to.shared) += elements;
  to.counts.tensors += 1;
  to.counts.expert_tensors += of_experts ? 1 : 0;
}

bool divides(const Strategy& strategy, bool of_experts) {
  return (of_experts ? strategy.expert_weight_group() : strategy.weight_group()) > 1;
}

}  // namespace

TensorCounts count_divided(const PartitionedBlock& block, bool copies) {
  const std::vector<bool> weights = dividable(block.graph);
  TensorCounts out;
  for (const ParameterShard& shard : block.parameters) {
    if (block.graph.tensor(shard.tensor).tied && !copies) continue;
    if (weights[static_cast<std::size_t>(shard.tensor)]) {
      ++out.tensors;
      out.expert_tensors += is_of_experts(block, shard) ? 1 : 0;
    } else if (!is_of_experts(block, shard)) {
      ++out.whole_tensors;
      out.whole_elements += shard.elements;
    }
  }
  return out;
}

HeldParameters divided_weights(const Job& job, const PartitionedBlock& block) {
  const std::vector<bool> weights = dividable(block.graph);
  HeldParameters out;
  for (const ParameterShard& shard : block.parameters) {
    const bool of_experts = is_of_experts(block, shard);
    if (!weights[static_cast<std::size_t>(shard.tensor)] || !divides(job.strategy, of_experts)) continue;
    add(out, shard.elements, of_experts);
  }
  return out;
}

HeldParameters recomputed_weights(const Job& job, const PartitionedBlock& block) {
  std::vector<bool> read(block.graph.tensors.size());
  for (const BlockStep& step : block.recompute) {
    if (step.kind != BlockStep::Kind::kernel) continue;
    for (const Operand& input : block.graph.op(step.op).inputs) read[static_cast<std::size_t>(input.tensor)] = true;
  }
  const std::vector<bool> weights = dividable(block.graph);
  HeldParameters out;
  for (const ParameterShard& shard : block.parameters) {
    const auto tensor = static_cast<std::size_t>(shard.tensor);
    const bool of_experts = is_of_experts(block, shard);
    if (read[tensor] && weights[tensor] && divides(job.strategy, of_experts)) add(out, shard.elements, of_experts);
  }
  return out;
}

HeldParameters divided_weights(const StageContents& stage) {
  HeldParameters out;
  for (const ChunkPlan& chunk : stage.chunks) {
    for (int i = 0; i < chunk.blocks(); ++i) out += chunk.divided_of(i);
  }
  return out;
}

HeldParameters buffers_of_weights(const Job& job, const ShardedBlocks& blocks, const std::vector<ChunkPlan>& chunks) {
  std::set<std::tuple<std::string, double>> known;
  HeldParameters out;
  for (const ChunkPlan& chunk : chunks) {
    for (const BlockRun& run : chunk.runs) {
      const PartitionedBlock& block = blocks.of(run.block);
      const bool layer = run.block != ShardedBlocks::kEmbedding && run.block != blocks.head_id();
      const std::vector<bool> weights = dividable(block.graph);
      for (const ParameterShard& shard : block.parameters) {
        const bool of_experts = is_of_experts(block, shard);
        if (!weights[static_cast<std::size_t>(shard.tensor)] || !divides(job.strategy, of_experts)) continue;
        const std::string name = layer ? block.graph.tensor(shard.tensor).name : "";
        if (known.emplace(name, shard.elements).second) add(out, shard.elements, of_experts);
      }
    }
  }
  return out;
}

}  // namespace mirfak
