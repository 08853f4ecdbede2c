#include "program/stage_plan.hpp"

#include "strategy/rules.hpp"

#include <array>
#include <map>
#include <tuple>

namespace mirfak {

BlockKind ChunkPlan::block(int index) const {
  if (embedding && index == 0) return BlockKind::embedding;
  return head && index == blocks() - 1 ? BlockKind::head : BlockKind::layer;
}

PipelineShape pipeline_shape(const Job& job) {
  PipelineShape shape;
  shape.stages = job.strategy.pipeline;
  shape.chunks = job.strategy.virtual_pipeline;
  shape.microbatches = microbatches(job.strategy, job.training);
  shape.group = job.strategy.microbatch_group > 0 ? job.strategy.microbatch_group : shape.stages;
  return shape;
}

namespace {

double parameters_of(const PartitionedBlock& block) {
  double elements = 0;
  for (const ParameterShard& shard : block.parameters) elements += shard.elements;
  return elements;
}

// Of the output projection that is also the word embedding, on one rank; 0 when they are not tied.
double tied_parameters(const Job& job, const ShardedBlocks& blocks) {
  if (!job.model.tied_embeddings) return 0;
  for (const ParameterShard& shard : blocks.head.parameters) {
    if (blocks.head.graph.tensor(shard.tensor).name == "output_weight") return shard.elements;
  }
  return 0;
}

std::vector<ChunkPlan> plan_chunks(const Job& job, const ShardedBlocks& blocks, int stage) {
  const std::vector<int> layers = layers_of_chunks(job.strategy, job.model)[static_cast<std::size_t>(stage)];
  std::vector<ChunkPlan> chunks;
  for (std::size_t chunk = 0; chunk < layers.size(); ++chunk) {
    ChunkPlan plan;
    plan.layers = layers[chunk];
    plan.embedding = stage == 0 && chunk == 0;
    plan.head = stage + 1 == job.strategy.pipeline && chunk + 1 == layers.size();
    plan.parameters = plan.layers * parameters_of(blocks.layer);
    if (plan.embedding) plan.parameters += parameters_of(blocks.embedding);
    if (plan.head) plan.parameters += parameters_of(blocks.head);
    // One copy serves as word embedding and as output projection.
    if (plan.embedding && plan.head) plan.parameters -= tied_parameters(job, blocks);
    chunks.push_back(plan);
  }
  return chunks;
}

double tensor_partial_parameters(const PartitionedBlock& block) {
  double elements = 0;
  for (const ParameterShard& shard : block.parameters) {
    if (shard.gradient_partial.contains(MeshAxis::tensor)) elements += shard.elements;
  }
  return elements;
}

StageParameters count_stage(const Job& job, const ShardedBlocks& blocks, const std::vector<ChunkPlan>& chunks) {
  StageParameters out;
  bool first = false;
  bool last = false;
  for (const ChunkPlan& chunk : chunks) {
    out.elements += chunk.parameters;
    out.tensor_partial_elements += chunk.layers * tensor_partial_parameters(blocks.layer);
    if (chunk.embedding) out.tensor_partial_elements += tensor_partial_parameters(blocks.embedding);
    if (chunk.head) out.tensor_partial_elements += tensor_partial_parameters(blocks.head);
    first = first || chunk.embedding;
    last = last || chunk.head;
  }
  if (first != last) out.tied_elements = tied_parameters(job, blocks);
  return out;
}

}  // namespace

StagePlan::StagePlan(const Job& job, const ShardedBlocks& blocks, int stage_index)
    : stage(stage_index),
      costs(job, stage_index),
      chunks(plan_chunks(job, blocks, stage_index)),
      order(schedule_of(job.strategy.schedule).order(pipeline_shape(job), stage_index)),
      parameters(count_stage(job, blocks, chunks)) {}

FoldedBody StagePlan::folded(const ChunkPlan& chunk, Pass::Kind kind) const {
  if (kind == Pass::Kind::backward) return folded_backward_part(chunk, 0, chunk.blocks());
  FoldedBody out;
  if (chunk.embedding) out = in_a_row(out, bodies_of(BlockKind::embedding).folded_forward);
  out = in_a_row(out, repeated(bodies_of(BlockKind::layer).folded_forward, chunk.layers));
  if (chunk.head) out = in_a_row(out, bodies_of(BlockKind::head).folded_forward);
  return out;
}

FoldedBody StagePlan::folded_backward_part(const ChunkPlan& chunk, int first, int last) const {
  FoldedBody out;
  for (int i = first; i < last; ++i) {
    out = in_a_row(out, bodies_of(chunk.block(chunk.blocks() - 1 - i)).folded_backward);
  }
  return out;
}

std::vector<StagePlan> plan_stages(const Job& job, const ShardedBlocks& blocks) {
  using Bodies = std::shared_ptr<const std::vector<BlockBodies>>;
  // Bodies depend on the node type and on where the tensor group lies.
  using Key = std::tuple<const NodeGroup*, int, int, bool>;
  std::map<Key, Bodies> priced;
  std::vector<StagePlan> plans;
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    StagePlan plan(job, blocks, stage);
    const CommunicationGroup& group = plan.costs.tensor_group;
    Bodies& bodies =
        priced[{&plan.costs.hardware, group.shape.nodes, group.shape.ranks_per_node, group.crosses_leaves}];
    if (!bodies) {
      auto made = std::make_shared<std::vector<BlockBodies>>();
      for (const BlockKind kind : {BlockKind::embedding, BlockKind::layer, BlockKind::head}) {
        made->push_back(price_block(job, blocks.of(kind), plan.costs));
      }
      bodies = made;
    }
    plan.bodies = bodies;
    plans.push_back(std::move(plan));
  }
  return plans;
}

TransferCost transfer_cost(const Job& job, std::span<const StagePlan> stages, const ShardedBlocks& blocks, int from,
                           int to) {
  const int sender = job.rank_of(from, 0, 0);
  const int receiver = job.rank_of(to, 0, 0);
  const bool same_domain = job.cluster.place_of(sender).domain == job.cluster.place_of(receiver).domain;
  const std::array<int, 2> both = {sender, receiver};
  const bool crosses = communication_group(job.cluster, both).crosses_leaves;
  const bool scatter =
      job.framework.scatter_gather_pipeline && !job.strategy.sequence_parallel && job.strategy.tensor > 1;

  TransferCost out;
  out.bytes = blocks.layer.residual_bytes / (scatter ? job.strategy.tensor : 1);
  // Both ends must carry it: the slower one decides.
  for (const int stage : {from, to}) {
    const StageCosts& costs = stages[static_cast<std::size_t>(stage)].costs;
    const CommunicationCost cost = costs.communication.price_send(out.bytes, same_domain, crosses);
    if (cost.seconds <= out.seconds) continue;
    out.seconds = cost.seconds;
    out.bytes_per_s = cost.bytes_per_s;
    out.on_network = cost.on_network;
  }
  if (scatter) {
    const StageCosts& costs = stages[static_cast<std::size_t>(to)].costs;
    out.seconds +=
        costs.communication.price(CollectiveKind::all_gather, blocks.layer.residual_bytes, costs.tensor_group).seconds;
  }
  return out;
}

}  // namespace mirfak
