#include "program/stage_plan.hpp"

#include "base/error.hpp"
#include "program/divided_weights.hpp"
#include "program/frozen_parts.hpp"
#include "program/job_layers.hpp"
#include "program/quantization_of_job.hpp"
#include "program/quantized_exchange.hpp"
#include "program/transfer_cost.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace mirfak {

void ChunkPlan::append(BlockId block, int count) {
  if (count == 0) return;
  if (runs.empty() || runs.back().block != block) runs.push_back({block});
  runs.back().count += count;
}

void ChunkPlan::append(const ForwardOnlyPass& pass, bool copy, std::span<const BlockId> layers) {
  const std::size_t first = runs.size();
  append(pass.embedding);
  for (const BlockId layer : layers) append(layer);
  append(pass.head);
  for (std::size_t i = first; i < runs.size(); ++i) {
    runs[i].forward_only = true;
    runs[i].copy = copy;
    runs[i].end = i == first || i + 1 == runs.size();
  }
}

int ChunkPlan::blocks() const {
  return std::accumulate(runs.begin(), runs.end(), 0, [](int sum, const BlockRun& run) { return sum + run.count; });
}

int ChunkPlan::own_blocks() const {
  return std::accumulate(runs.begin(), runs.end(), 0,
                         [](int sum, const BlockRun& run) { return sum + (run.forward_only ? 0 : run.count); });
}

bool ChunkPlan::is_layer(int index) const {
  const BlockRun& own = run_of(index);
  if (own.forward_only) return !own.end;
  if (embedding && index == 0) return false;
  if (!head) return true;
  const auto last = std::find_if(runs.rbegin(), runs.rend(), [](const BlockRun& run) { return !run.forward_only; });
  return &own != &*last;
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

namespace {

// `copies`: also counts parameters that another block holds, too.
double parameters_of(const PartitionedBlock& block, bool frozen, bool copies) {
  double elements = 0;
  for (const ParameterShard& shard : block.parameters) {
    const Tensor& parameter = block.graph.tensor(shard.tensor);
    const bool counts = parameter.frozen == frozen || (frozen && parameter.beside_frozen);
    if (counts && (copies || !parameter.tied)) elements += shard.elements;
  }
  return elements;
}

// Frozen parameters as so many of the precision of training that they have as many bytes.
double frozen_of(const Job& job, const PartitionedBlock& block, bool copies) {
  if (job.training.adapters.base == FrozenBase::as_trained) return parameters_of(block, true, copies);
  const double width = bytes_per_element(job.precision());
  double elements = 0;
  for (const ParameterShard& shard : block.parameters) {
    const Tensor& parameter = block.graph.tensor(shard.tensor);
    if ((parameter.frozen || parameter.beside_frozen) && (copies || !parameter.tied)) {
      elements += shard.elements * parameter.bytes_per_element / width;
    }
  }
  return elements;
}

// Number of a run's blocks that have parameters of their own: prediction modules use the model's one head.
int held(const ShardedBlocks& blocks, const BlockRun& run) { return run.block == blocks.head_id() ? 1 : run.count; }

double experts_of(const PartitionedBlock& block) {
  double elements = 0;
  for (const ParameterShard& shard : block.parameters) {
    if (is_of_experts(block, shard) && !block.graph.tensor(shard.tensor).frozen) elements += shard.elements;
  }
  return elements;
}

// Parameters of the output projection that is also the word embedding, on one rank; 0 if they are not tied.
double tied_parameters(const PartitionedBlock& head) {
  double elements = 0;
  for (const ParameterShard& shard : head.parameters) {
    if (head.graph.tensor(shard.tensor).tied) elements += shard.elements;
  }
  return elements;
}
double tied_parameters(const ShardedBlocks& blocks) { return tied_parameters(blocks.head()); }

TensorCounts count_tensors(const Job& job, const PartitionedBlock& block, bool copies) {
  const std::vector<bool> matrices = read_by_products(block.graph);
  TensorCounts out;
  for (const ParameterShard& shard : block.parameters) {
    const Tensor& parameter = block.graph.tensor(shard.tensor);
    if (parameter.frozen || (parameter.tied && !copies)) continue;
    if (matrices[static_cast<std::size_t>(shard.tensor)] && is_quantizable(job, shard.elements)) {
      ++out.tensors;
    } else {
      ++out.whole_tensors;
      out.whole_elements += shard.elements;
    }
  }
  return out;
}

// Sets the numbers of parameters of a run of a pass that only goes forward. Its embedding is always beside its head: a
// parameter that both read counts with the embedding.
void count_read(const Job& job, const ShardedBlocks& blocks, BlockRun& run) {
  run.frozen_whole = true;
  run.frozen = frozen_of(job, blocks.of(run.block), false);
  for (const ParameterShard& shard : blocks.of(run.block).parameters) {
    run.largest = std::max(run.largest, shard.elements);
  }
}

// Sets the numbers of parameters of a chunk's blocks.
void count_parameters(const Job& job, const ShardedBlocks& blocks, ChunkPlan& plan) {
  for (BlockRun& run : plan.runs) {
    if (run.forward_only) {
      count_read(job, blocks, run);
      if (run.copy) plan.frozen += run.count * run.frozen;
      continue;
    }
    run.experts = experts_of(blocks.of(run.block));
    run.frozen_whole = is_frozen(blocks.of(run.block).graph, job.training.frozen);
    for (const ParameterShard& shard : blocks.of(run.block).parameters) {
      run.largest = std::max(run.largest, shard.elements);
    }
    // Parameters of layers that are tied to another block: with several stages, the other block lies on another stage.
    const bool copies = run.block == blocks.head_id() || job.strategy.pipeline > 1;
    run.parameters = parameters_of(blocks.of(run.block), false, copies);
    run.frozen = frozen_of(job, blocks.of(run.block), copies);
    // One copy serves as word embedding and as output projection.
    if (plan.beside_embedding && run.block == blocks.head_id()) {
      (job.training.freezes_words() ? run.frozen : run.parameters) -= tied_parameters(blocks);
    }
    if (job.strategy.quantized_reductions) run.counts = count_tensors(job, blocks.of(run.block), copies);
    if (job.strategy.divides_weights()) {
      run.counts = count_divided(blocks.of(run.block), copies);
      run.divided = divided_weights(job, blocks.of(run.block));
      run.recomputed = recomputed_weights(job, blocks.of(run.block));
    }
    // Prediction modules use the model's one head.
    if (run.block == blocks.head_id()) {
      run.parameters /= run.count;
      run.frozen /= run.count;
    }
    plan.parameters += run.count * run.parameters;
    plan.frozen += run.count * run.frozen;
  }
}

// True if a layer is recomputed, by its place in its chunk.
bool recomputes(const Strategy& strategy, std::int64_t place) {
  const int some = strategy.partly_recomputed();
  return strategy.recompute != Recompute::none && (some == 0 || place < some);
}

std::vector<ChunkPlan> plan_chunks(const Job& job, const ShardedBlocks& blocks, int stage) {
  const std::vector<LayerBlocks> layers = layer_blocks(job, blocks);
  const std::vector<std::vector<LayerRange>> layers_of = layers_of_chunks(job.strategy, job.model);
  const Placement placement = placement_of(job.strategy);
  std::vector<ChunkPlan> chunks;
  for (const LayerRange& range : layers_of[static_cast<std::size_t>(stage)]) {
    const int part = placement.part_of(stage, static_cast<int>(chunks.size()));
    chunks.push_back(
        chunk_of(job.model, job.strategy, blocks, layers, range, part == 0, part + 1 == placement.parts()));
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

// Mean bytes of one trained parameter on the wire: narrow formats travel as they are kept if their second copy can be
// made from the first, or is gathered by itself (divided weights).
double mean_gathered_bytes(const Job& job, const ShardedBlocks& blocks, const std::vector<ChunkPlan>& chunks) {
  const double wide = bytes_per_element(job.precision());
  const std::optional<Quantization> quantization = quantization_of(job);
  if (!quantization || !quantization->narrow_parameters) return wide;
  if (!quantization->transposable && !job.strategy.divides_weights()) return wide;
  double elements = 0;
  double bytes = 0;
  for (const ChunkPlan& chunk : chunks) {
    for (const BlockRun& run : chunk.runs) {
      if (run.forward_only) continue;
      const PartitionedBlock& block = blocks.of(run.block);
      for (const ParameterShard& shard : block.parameters) {
        elements += run.count * shard.elements;
        bytes += run.count * shard.elements * block.graph.tensor(shard.tensor).bytes_per_element;
      }
    }
    if (!chunk.beside_embedding || !chunk.head) continue;
    elements -= tied_parameters(blocks);  // held once
    bytes -= tied_parameters(blocks) * wide;
  }
  return elements > 0 ? bytes / elements : wide;
}

void add_low_rank(const Job& job, const ShardedBlocks& blocks, const BlockRun& run, LowRankState& to) {
  const LowRankState block = low_rank_state(blocks.of(run.block), job.training.low_rank_gradients.rank);
  to.elements += run.count * block.elements;
  to.projected += run.count * block.projected;
  to.projectors += run.count * block.projectors;
}

// Adds the bytes of a frozen copy of the model.
void add_copy(const Job& job, const PartitionedBlock& block, int count, StageParameters& to) {
  to.bytes += count * block.parameter_bytes - tied_parameters(block) * bytes_per_element(job.precision());
  to.copy_bytes += count * block.parameter_copy_bytes;
}

StageParameters count_stage(const Job& job, const ShardedBlocks& blocks, const std::vector<ChunkPlan>& chunks) {
  const bool muon = job.training.optimizer == Optimizer::muon;  // searches count very many stages
  StageParameters out;
  bool first = false;
  bool last = false;
  for (const ChunkPlan& chunk : chunks) {
    out.elements += chunk.parameters;
    out.frozen_elements += chunk.frozen;
    for (const BlockRun& run : chunk.runs) {
      if (run.forward_only) {
        if (run.copy) add_copy(job, blocks.of(run.block), run.count, out);
        continue;
      }
      out.expert_elements += run.count * run.experts;
      if (job.training.low_rank_gradients.any()) add_low_rank(job, blocks, run, out.low_rank);
      if (muon) out.matrix_elements += run.count * matrix_elements(blocks.of(run.block));
      for (int i = 0; i < held(blocks, run); ++i) out.counts += run.counts;
      out.tensors += held(blocks, run) * static_cast<int>(blocks.of(run.block).parameters.size());
      out.bytes += held(blocks, run) * blocks.of(run.block).parameter_bytes;
      out.copy_bytes += held(blocks, run) * blocks.of(run.block).parameter_copy_bytes;
      out.tensor_partial_elements += held(blocks, run) * tensor_partial_parameters(blocks.of(run.block));
    }
    if (chunk.beside_embedding && chunk.head) out.bytes -= tied_parameters(blocks) * bytes_per_element(job.precision());
    first = first || chunk.words;
    last = last || chunk.head;
  }
  out.gathered_bytes_per_element = mean_gathered_bytes(job, blocks, chunks);
  if (job.strategy.divides_weights()) out.buffers = buffers_of_weights(job, blocks, chunks);
  if (first != last && !job.training.freezes_words()) out.tied_elements = tied_parameters(blocks);
  return out;
}

}  // namespace

std::vector<std::array<std::int32_t, 2>> tied_stages(const Placement& placement, int words) {
  const std::vector<std::int32_t> first = placement.holders(words);
  const std::vector<std::int32_t> last = placement.holders(placement.parts() - 1);
  std::vector<std::array<std::int32_t, 2>> out;
  for (std::size_t i = 0; i < std::max(first.size(), last.size()); ++i) {
    const std::array<std::int32_t, 2> pair = {first[std::min(i, first.size() - 1)], last[std::min(i, last.size() - 1)]};
    const bool one_copy = std::find(last.begin(), last.end(), pair[0]) != last.end() ||
                          std::find(first.begin(), first.end(), pair[1]) != first.end();
    if (!one_copy) out.push_back(pair);
  }
  return out;
}

std::vector<LayerBlocks> layer_blocks(const Job& job, const ShardedBlocks& blocks) {
  const std::vector<JobLayer> kinds = job_layers(job);
  std::vector<LayerBlocks> out;
  for (std::int64_t layer = 0; layer < job.model.layers; ++layer) {
    const auto kind =
        static_cast<std::size_t>(std::find(kinds.begin(), kinds.end(), job_layer(job, layer)) - kinds.begin());
    out.push_back({blocks.layer_id(kind, true), blocks.layer_id(kind, false)});
  }
  return out;
}

namespace {

// Adds the passes of a whole model that only go forward. Passes of the same frozen copy hold it once.
void add_forward_only(const ShardedBlocks& blocks, std::span<const LayerBlocks> layers, ChunkPlan& plan) {
  const auto held_before = [&](const ForwardOnlyPass& pass) {
    return std::any_of(plan.runs.begin(), plan.runs.end(),
                       [&](const BlockRun& run) { return run.copy && run.block == pass.embedding; });
  };
  for (const ForwardOnlyPass& pass : blocks.forward_only) {
    std::vector<BlockId> of_pass;
    for (const LayerBlocks& layer : layers) of_pass.push_back(blocks.layer_of(pass, layer.kept));
    plan.append(pass, pass.own_parameters && !held_before(pass), of_pass);
  }
}

}  // namespace

ChunkPlan chunk_of(const ModelSpec& model, const Strategy& strategy, const ShardedBlocks& blocks,
                   std::span<const LayerBlocks> layers, const LayerRange& range, bool embedding, bool head) {
  ChunkPlan plan;
  plan.embedding = embedding;
  plan.head = head;
  const std::int64_t join = model.tower_layers;  // the layer that puts images among words
  plan.words = join == 0 ? embedding : range.first <= join && join < range.first + range.count;
  const auto behind = [&](std::int64_t layer) {
    return layer > 0 ? layers[static_cast<std::size_t>(layer) - 1].kept : ShardedBlocks::kEmbedding;
  };
  plan.entering = behind(range.first);
  plan.leaving = behind(range.first + range.count);
  if (embedding) plan.append(ShardedBlocks::kEmbedding);
  for (std::int64_t layer = range.first; layer < range.first + range.count; ++layer) {
    const LayerBlocks& block = layers[static_cast<std::size_t>(layer)];
    plan.append(recomputes(strategy, layer - range.first) ? block.recomputed : block.kept);
  }
  if (!head) return plan;
  const auto predictions = static_cast<int>(model.prediction_layers);
  plan.append(blocks.prediction_id(), predictions);
  plan.append(blocks.head_id(), 1 + predictions);
  add_forward_only(blocks, layers, plan);
  return plan;
}

StageContents::StageContents(const Job& job, const ShardedBlocks& blocks, int stage_index)
    : StageContents(job, blocks, stage_index, plan_chunks(job, blocks, stage_index)) {}

StageContents::StageContents(const Job& job, const ShardedBlocks& blocks, int stage_index,
                             std::vector<ChunkPlan> of_chunks)
    : stage(stage_index), chunks(std::move(of_chunks)) {
  const bool embedding = std::any_of(chunks.begin(), chunks.end(), [](const ChunkPlan& chunk) { return chunk.words; });
  for (ChunkPlan& chunk : chunks) {
    chunk.beside_embedding = embedding;
    count_parameters(job, blocks, chunk);
  }
  parameters = count_stage(job, blocks, chunks);
}

StagePlan::StagePlan(const Job& job, const ShardedBlocks& blocks, std::span<const ReplicaClass> classes,
                     int stage_index, int own)
    : StageContents(job, blocks, stage_index),
      replica_class(own),
      replicas(classes[static_cast<std::size_t>(own)]),
      ranks(static_cast<double>(job.strategy.team()) * replicas.count()),
      costs(job, classes, stage_index, own),
      pass_host(job.training.cuda_graphs.iteration ? 0
                                                   : to_picoseconds(costs.host_seconds(job.framework.host.pass_s))) {}

int StagePlan::microbatches_of(int chunk) const {
  return static_cast<int>(std::count_if(
      order.begin(), order.end(), [&](const Pass& pass) { return is_forward(pass.kind) && pass.chunk == chunk; }));
}

FoldedBody StagePlan::folded(const ChunkPlan& chunk, Pass::Kind kind) const {
  return folded_part(chunk, kind, 0, chunk.blocks());
}

FoldedBody StagePlan::folded_part(const ChunkPlan& chunk, Pass::Kind kind, int first, int last) const {
  return fold_blocks(*this, chunk, kind, first, last, pass_host,
                     [&](BlockId block, Pass::Kind of, RowPlace place) -> const FoldedBody& {
                       return folded_pass(bodies_of(block), of, place);
                     });
}

RowPlace place_in_row(const StagePlan& plan, const ChunkPlan& chunk, Pass::Kind kind, int first, int last, int index) {
  const auto row = [&](int at) -> const RowBodies& { return row_of(plan.bodies_of(chunk.in_pass(at, kind)), kind); };
  const RowBodies& own = row(index);
  if (own.empty()) return {};
  return {index > first && hands_on(row(index - 1), own), index + 1 < last && hands_on(own, row(index + 1))};
}

std::vector<StagePlan> plan_stages(const Job& job, const ShardedBlocks& blocks, std::span<const double> clock_limits) {
  BodyCache cache;
  return plan_stages(job, blocks, clock_limits, cache);
}

namespace {

// `limit`: as in plan_stages(); 1: no limit.
void set_prices(const Job& job, const ShardedBlocks& blocks, double limit, BodyCache& cache, StagePlan& plan) {
  limit = std::min(plan.costs.hardware->hardware.clock_limit(), limit);
  const PricedBodies priced = cache.price(job, blocks, plan, limit);
  plan.costs.kernels.set_clock_share(priced.clock_share, limit);
  plan.bodies = priced.bodies;
}

// Plans stages of which each shape prices its own blocks. The replicas of a stage are one class.
std::vector<StagePlan> plan_shaped_stages(const Job& job, const ShardedBlocks& blocks,
                                          std::span<const double> clock_limits, bool steps) {
  std::vector<StagePlan> plans;
  plans.reserve(static_cast<std::size_t>(job.strategy.pipeline));
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    const auto place = static_cast<std::size_t>(stage);
    const ShapedStage& shaped = *blocks.stages[place];
    StagePlan& plan = plans.emplace_back(shaped.job, *shaped.blocks, replica_classes(job, stage), stage, 0);
    BodyCache& cache = steps ? shaped.bodies->with_steps() : *shaped.bodies;
    set_prices(shaped.job, *shaped.blocks, clock_limits.empty() ? 1 : clock_limits[place], cache, plan);
  }
  order_passes(job, blocks, plans);
  return plans;
}

}  // namespace

std::vector<StagePlan> plan_stages(const Job& job, const ShardedBlocks& blocks, std::span<const double> clock_limits,
                                   BodyCache& cache) {
  if (!blocks.stages.empty()) return plan_shaped_stages(job, blocks, clock_limits, cache.keeps_steps());
  const std::vector<ReplicaClass> classes = replica_classes(job);
  const auto count = static_cast<int>(classes.size());
  std::vector<StagePlan> plans;
  plans.reserve(static_cast<std::size_t>(job.strategy.pipeline) * classes.size());
  for (int i = 0; i < job.strategy.pipeline * count; ++i) {
    StagePlan& plan = plans.emplace_back(job, blocks, classes, i / count, i % count);
    set_prices(job, blocks, clock_limits.empty() ? 1 : clock_limits[static_cast<std::size_t>(i)], cache, plan);
  }
  order_passes(job, blocks, plans);
  return plans;
}

namespace {

// Times of the passes of one class of replicas if the host is never late.
PassTimes pass_times(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans, int own) {
  PassTimes out;
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    const StagePlan& plan = plans_of(plans, stage)[static_cast<std::size_t>(own)];
    out.chunks.emplace_back();
    for (const ChunkPlan& chunk : plan.chunks) {
      const auto device = [&](Pass::Kind kind) { return plan.folded(chunk, kind).device; };
      out.chunks.back().push_back(
          {device(Pass::Kind::forward), device(Pass::Kind::backward_input), device(Pass::Kind::backward_weight), 0});
    }
    if (stage == 0) continue;
    for (const BlockId stream : streams_leaving(plans_of(plans, stage - 1)[static_cast<std::size_t>(own)], blocks)) {
      const double seconds = transfer_cost(job, plans, blocks, {stage - 1, stage, own, stream}).seconds;
      out.transfer = std::max(out.transfer, to_picoseconds(seconds));
    }
  }
  return out;
}

// Refuses orders of passes that would not fit in memory. A schedule that searches for an order holds it several times,
// with the times of its passes.
void check_passes(const Schedule& schedule, const PipelineShape& shape) {
  constexpr double kMostPasses = 1 << 26;
  constexpr double kMostSought = 1 << 21;
  const double passes = (schedule.splits ? 3.0 : 2.0) * shape.stages * shape.chunks * shape.microbatches;
  const double most = schedule.needs_times ? kMostSought : kMostPasses;
  if (passes <= most) return;
  fail_infeasible({},
                  fmt::format("an iteration of {} microbatches has {:.2g} passes on all stages, and an order of {} at "
                              "most {:.2g}",
                              shape.microbatches, passes, schedule.name, most),
                  schedule.needs_times ? "lower training.global_batch, or choose another strategy.schedule"
                                       : "lower training.global_batch, or raise strategy.micro_batch");
}

}  // namespace

void order_passes(const Job& job, const ShardedBlocks& blocks, std::span<StagePlan> plans) {
  const Schedule& schedule = schedule_of(job.strategy.schedule);
  const auto classes = static_cast<std::size_t>(classes_of(plans));
  for (std::size_t own = 0; own < classes; ++own) {
    const PipelineShape shape = pipeline_shape(job.strategy, plans[own].replicas.microbatches);
    check_passes(schedule, shape);
    StageOrders orders = schedule.orders(
        shape, schedule.needs_times ? pass_times(job, blocks, plans, static_cast<int>(own)) : PassTimes{});
    for (std::size_t stage = 0; stage < orders.size(); ++stage) {
      plans[stage * classes + own].order = std::move(orders[stage]);
    }
  }
}

int classes_of(std::span<const StagePlan> plans) {
  return static_cast<int>(
      std::count_if(plans.begin(), plans.end(), [](const StagePlan& plan) { return plan.stage == 0; }));
}

std::span<const StagePlan> plans_of(std::span<const StagePlan> plans, int stage) {
  const auto classes = static_cast<std::size_t>(classes_of(plans));
  return plans.subspan(static_cast<std::size_t>(stage) * classes, classes);
}

}  // namespace mirfak
