#include "program/stage_plan.hpp"

#include "program/job_layers.hpp"
#include "program/quantization_of_job.hpp"
#include "program/settled_clock.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

namespace mirfak {

void ChunkPlan::append(BlockId block, int count) {
  if (count == 0) return;
  if (runs.empty() || runs.back().block != block) runs.push_back({block, 0, 0, 0, 0, 0});
  runs.back().count += count;
}

int ChunkPlan::blocks() const {
  return std::accumulate(runs.begin(), runs.end(), 0, [](int sum, const BlockRun& run) { return sum + run.count; });
}

double ChunkPlan::largest_parameter() const {
  double largest = 0;
  for (const BlockRun& run : runs) largest = std::max(largest, run.largest);
  return largest;
}

const BlockRun& ChunkPlan::run_of(int index) const {
  auto run = runs.begin();
  while (index >= run->count) index -= (run++)->count;
  return *run;
}

PipelineShape pipeline_shape(const Job& job, int microbatches) {
  PipelineShape shape;
  shape.stages = job.strategy.pipeline;
  shape.chunks = job.strategy.virtual_pipeline;
  shape.microbatches = microbatches;
  shape.group = job.strategy.microbatch_group > 0 ? job.strategy.microbatch_group : shape.stages;
  return shape;
}

namespace {

double parameters_of(const PartitionedBlock& block, bool frozen) {
  double elements = 0;
  for (const ParameterShard& shard : block.parameters) {
    if (block.graph.tensor(shard.tensor).frozen == frozen) elements += shard.elements;
  }
  return elements;
}

// Blocks of a run that have parameters of their own: prediction modules use the model's one head.
int held(const ShardedBlocks& blocks, const BlockRun& run) { return run.block == blocks.head_id() ? 1 : run.count; }

// Of experts that not all replicas hold: divided over mesh axes that replicate everything else.
double experts_of(const PartitionedBlock& block) {
  double elements = 0;
  for (const ParameterShard& shard : block.parameters) {
    const Sharding& lies = block.shardings[static_cast<std::size_t>(shard.tensor)];
    const bool divided = std::any_of(lies.axes.begin(), lies.axes.end(), [](MeshAxisSet axes) {
      return axes.contains(MeshAxis::expert) || axes.contains(MeshAxis::context);
    });
    if (divided && !block.graph.tensor(shard.tensor).frozen) elements += shard.elements;
  }
  return elements;
}

// Of the output projection that is also the word embedding, on one rank; 0 when they are not tied.
double tied_parameters(const Job& job, const ShardedBlocks& blocks) {
  if (!job.model.tied_embeddings) return 0;
  for (const ParameterShard& shard : blocks.head().parameters) {
    if (blocks.head().graph.tensor(shard.tensor).name == "output_weight") return shard.elements;
  }
  return 0;
}

std::vector<ChunkPlan> plan_chunks(const Job& job, const ShardedBlocks& blocks, int stage) {
  const std::vector<JobLayer> kinds = job_layers(job);
  const auto block_of_layer = [&](std::int64_t layer, bool recomputed) {
    const auto found = std::find(kinds.begin(), kinds.end(), job_layer(job, layer));
    return blocks.layer_id(static_cast<std::size_t>(found - kinds.begin()), recomputed);
  };
  const std::vector<std::vector<LayerRange>> layers_of = layers_of_chunks(job.strategy, job.model);
  std::vector<ChunkPlan> chunks;
  for (const LayerRange& layers : layers_of[static_cast<std::size_t>(stage)]) {
    ChunkPlan plan;
    plan.embedding = stage == 0 && chunks.empty();
    plan.head =
        stage + 1 == job.strategy.pipeline && static_cast<int>(chunks.size()) + 1 == job.strategy.virtual_pipeline;
    if (plan.embedding) plan.append(ShardedBlocks::kEmbedding);
    for (std::int64_t layer = layers.first; layer < layers.first + layers.count; ++layer) {
      plan.append(block_of_layer(layer, layer - layers.first < job.strategy.recompute_layers));
    }
    if (plan.head) {
      const auto predictions = static_cast<int>(job.model.prediction_layers);
      plan.append(blocks.prediction_id(), predictions);
      plan.append(blocks.head_id(), 1 + predictions);
    }
    for (BlockRun& run : plan.runs) {
      run.experts = experts_of(blocks.of(run.block));
      for (const ParameterShard& shard : blocks.of(run.block).parameters) {
        run.largest = std::max(run.largest, shard.elements);
      }
      run.parameters = parameters_of(blocks.of(run.block), false);
      run.frozen = parameters_of(blocks.of(run.block), true);
      // One copy serves as word embedding and as output projection.
      if (plan.embedding && run.block == blocks.head_id()) {
        (job.training.adapters.rank > 0 ? run.frozen : run.parameters) -= tied_parameters(job, blocks);
      }
      // Prediction modules use the model's one head.
      if (run.block == blocks.head_id()) {
        run.parameters /= run.count;
        run.frozen /= run.count;
      }
      plan.parameters += run.count * run.parameters;
      plan.frozen += run.count * run.frozen;
    }
    chunks.push_back(std::move(plan));
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

// Of one trained parameter in the mean, on the wire: narrow formats travel as they are kept where their second copy can
// be made from the first.
double mean_gathered_bytes(const Job& job, const ShardedBlocks& blocks, const std::vector<ChunkPlan>& chunks) {
  const double wide = bytes_per_element(job.precision());
  const std::optional<Quantization> quantization = quantization_of(job);
  if (!quantization || !quantization->narrow_parameters || !quantization->transposable) return wide;
  double elements = 0;
  double bytes = 0;
  for (const ChunkPlan& chunk : chunks) {
    for (const BlockRun& run : chunk.runs) {
      const PartitionedBlock& block = blocks.of(run.block);
      for (const ParameterShard& shard : block.parameters) {
        elements += run.count * shard.elements;
        bytes += run.count * shard.elements * block.graph.tensor(shard.tensor).bytes_per_element;
      }
    }
    if (!chunk.embedding || !chunk.head) continue;
    elements -= tied_parameters(job, blocks);  // held once
    bytes -= tied_parameters(job, blocks) * wide;
  }
  return elements > 0 ? bytes / elements : wide;
}

StageParameters count_stage(const Job& job, const ShardedBlocks& blocks, const std::vector<ChunkPlan>& chunks) {
  StageParameters out;
  bool first = false;
  bool last = false;
  for (const ChunkPlan& chunk : chunks) {
    out.elements += chunk.parameters;
    out.frozen_elements += chunk.frozen;
    for (const BlockRun& run : chunk.runs) {
      out.expert_elements += run.count * run.experts;
      out.tensors += held(blocks, run) * static_cast<int>(blocks.of(run.block).parameters.size());
      out.bytes += held(blocks, run) * blocks.of(run.block).parameter_bytes;
      out.copy_bytes += held(blocks, run) * blocks.of(run.block).parameter_copy_bytes;
      out.tensor_partial_elements += held(blocks, run) * tensor_partial_parameters(blocks.of(run.block));
    }
    if (chunk.embedding && chunk.head) out.bytes -= tied_parameters(job, blocks) * bytes_per_element(job.precision());
    first = first || chunk.embedding;
    last = last || chunk.head;
  }
  out.gathered_bytes_per_element = mean_gathered_bytes(job, blocks, chunks);
  if (first != last && job.training.adapters.rank == 0) out.tied_elements = tied_parameters(job, blocks);
  return out;
}

}  // namespace

StagePlan::StagePlan(const Job& job, const ShardedBlocks& blocks, std::span<const ReplicaClass> classes,
                     int stage_index, int own)
    : stage(stage_index),
      replica_class(own),
      replicas(classes[static_cast<std::size_t>(own)]),
      ranks(static_cast<double>(job.strategy.team()) * replicas.count()),
      costs(job, classes, stage_index, own),
      chunks(plan_chunks(job, blocks, stage_index)),
      order(schedule_of(job.strategy.schedule).order(pipeline_shape(job, replicas.microbatches), stage_index)),
      parameters(count_stage(job, blocks, chunks)),
      pass_host(job.training.cuda_graphs.iteration ? 0 : to_picoseconds(job.framework.host_pass_s)) {}

FoldedBody StagePlan::folded(const ChunkPlan& chunk, Pass::Kind kind) const {
  return folded_part(chunk, kind, 0, chunk.blocks());
}

FoldedBody StagePlan::folded_part(const ChunkPlan& chunk, Pass::Kind kind, int first, int last) const {
  FoldedBody out;
  if (first == 0) out.host = out.lead = pass_host;
  for (int i = first; i < last; ++i) {
    const BlockBodies& block = bodies_of(chunk.block(kind == Pass::Kind::forward ? i : chunk.blocks() - 1 - i));
    out = in_a_row(out, kind == Pass::Kind::forward ? block.folded_forward : block.folded_backward);
  }
  return out;
}

std::vector<StagePlan> plan_stages(const Job& job, const ShardedBlocks& blocks, std::span<const double> clock_limits) {
  struct Priced {
    double clock_share = 1;
    std::shared_ptr<const std::vector<BlockBodies>> bodies;
  };
  // Bodies depend on the node type, the clock and on where the groups lie that blocks communicate in.
  using Place = std::tuple<int, int, bool>;
  using Key = std::tuple<const NodeGroup*, double, Place, Place, Place>;
  std::map<Key, Priced> priced_at;
  const std::vector<ReplicaClass> classes = replica_classes(job);
  const auto count = static_cast<int>(classes.size());
  std::vector<StagePlan> plans;
  for (int i = 0; i < job.strategy.pipeline * count; ++i) {
    StagePlan plan(job, blocks, classes, i / count, i % count);
    const auto place = [](const CommunicationGroup& group) {
      return Place(group.shape.nodes, group.shape.ranks_per_node, group.crosses_leaves);
    };
    const double limit = clock_limits.empty() ? 1 : clock_limits[static_cast<std::size_t>(i)];
    Priced& priced = priced_at[{&plan.costs.hardware, limit, place(plan.costs.tensor_group),
                                place(plan.costs.context_group), place(plan.costs.expert_group)}];
    if (!priced.bodies) priced.clock_share = settled_clock(job, blocks, plan);
    plan.costs.kernels.set_clock_share(priced.clock_share, limit);
    if (!priced.bodies) {
      auto made = std::make_shared<std::vector<BlockBodies>>();
      for (const PartitionedBlock& block : blocks.all) made->push_back(price_block(job, block, plan.costs));
      priced.bodies = made;
    }
    plan.bodies = priced.bodies;
    plans.push_back(std::move(plan));
  }
  return plans;
}

int classes_of(std::span<const StagePlan> plans) {
  return static_cast<int>(
      std::count_if(plans.begin(), plans.end(), [](const StagePlan& plan) { return plan.stage == 0; }));
}

std::span<const StagePlan> plans_of(std::span<const StagePlan> plans, int stage) {
  const auto classes = static_cast<std::size_t>(classes_of(plans));
  return plans.subspan(static_cast<std::size_t>(stage) * classes, classes);
}

TransferCost transfer_cost(const Job& job, std::span<const StagePlan> plans, const ShardedBlocks& blocks, int from,
                           int to, int replica_class) {
  const auto costs_of = [&](int stage) -> const StageCosts& {
    return plans_of(plans, stage)[static_cast<std::size_t>(replica_class)].costs;
  };
  const int first = plans[static_cast<std::size_t>(replica_class)].replicas.first();
  const int sender = job.rank_of(from, first, 0);
  const int receiver = job.rank_of(to, first, 0);
  const bool same_domain = job.cluster.place_of(sender).domain == job.cluster.place_of(receiver).domain;
  const std::array<int, 2> both = {sender, receiver};
  const bool crosses = communication_group(job.cluster, both).crosses_leaves;
  const bool scatter =
      job.framework.scatter_gather_pipeline && !job.strategy.sequence_parallel && job.strategy.tensor > 1;

  TransferCost out;
  out.bytes = blocks.residual_bytes() / (scatter ? job.strategy.tensor : 1);
  // Both ends must carry it: the slower one decides.
  for (const int stage : {from, to}) {
    const CommunicationCost cost = costs_of(stage).communication.price_send(out.bytes, same_domain, crosses);
    if (cost.seconds <= out.seconds) continue;
    out.seconds = cost.seconds;
    out.bytes_per_s = cost.bytes_per_s;
    out.on_network = cost.on_network;
  }
  if (scatter) {
    const StageCosts& costs = costs_of(to);
    out.seconds +=
        costs.communication.price(CollectiveKind::all_gather, blocks.residual_bytes(), costs.tensor_group).seconds;
  }
  return out;
}

}  // namespace mirfak
