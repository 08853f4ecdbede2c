#include "program/blocks_of_job.hpp"

#include "cost/composite_kernels.hpp"
#include "cost/expert_exchange.hpp"
#include "graph/backward.hpp"
#include "graph/dequantization.hpp"
#include "graph/images.hpp"
#include "model/blocks.hpp"
#include "program/block_hardware.hpp"
#include "program/body_cache.hpp"
#include "program/body_writer.hpp"
#include "program/data_parallel.hpp"
#include "program/exchange_kind.hpp"
#include "program/expert_load.hpp"
#include "program/expert_room.hpp"
#include "program/frozen_parts.hpp"
#include "program/job_layers.hpp"
#include "program/job_network.hpp"
#include "program/kernels_of_job.hpp"
#include "program/pass_parts.hpp"
#include "program/quantization_of_job.hpp"
#include "program/replica_placement.hpp"
#include "program/uncounted_flop.hpp"
#include "sharding/axis_rules.hpp"
#include "sharding/row_chunks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace mirfak {

bool host_waits_before(const Job& job, const Operator& op) {
  const HostHabits& host = job.framework.host;
  if (job.training.cuda_graphs.iteration) return false;
  const bool unknown_rows = job.strategy.expert_rank_capacity == 0;
  return op.kind == OperatorKind::dispatch    ? host.waits_for_routing && unknown_rows
         : op.kind == OperatorKind::attention ? host.waits_for_lengths
                                              : host.waits_for_clamp && op.function == "clamp";
}

namespace {

// Fills sequences with documents, one after the other; a document longer than a sequence is cut.
std::vector<DocumentLength> packed_documents(const TrainingSpec& training) {
  std::map<std::int64_t, double> tokens_by_length;
  double all = 0;
  for (const DocumentCount& of : training.documents) {
    const std::int64_t rest = of.tokens % training.sequence_length;
    tokens_by_length[training.sequence_length] += of.count * static_cast<double>(of.tokens - rest);
    tokens_by_length[rest] += of.count * static_cast<double>(rest);
    all += of.count * static_cast<double>(of.tokens);
  }
  std::vector<DocumentLength> documents;
  for (const auto& [length, tokens] : tokens_by_length) {
    if (tokens > 0) documents.push_back({static_cast<double>(length), tokens / all});
  }
  return documents;
}

BlockOptions block_options(const Job& job) {
  const Framework& framework = job.framework;
  const std::int64_t padding = std::int64_t{framework.kernels.vocabulary_multiple} * job.strategy.tensor;
  BlockOptions options;
  options.batch = std::int64_t{job.strategy.micro_batch} * job.strategy.data * job.training.preferences.answers;
  options.sequence = job.training.sequence_length;
  options.kv_heads = std::max<std::int64_t>(job.model.kv_heads, job.strategy.tensor);  // replicated if too few
  if (options.kv_heads > job.model.heads) options.kv_heads = job.model.heads;
  options.vocabulary = (job.model.vocab + padding - 1) / padding * padding;
  const auto sequence = static_cast<double>(job.training.sequence_length);
  if (framework.kernels.gathers_masked_tokens) options.masked = std::llround(sequence * job.model.masked_share);
  options.element_bytes = bytes_per_element(job.precision());
  options.adapters = job.training.adapters;
  options.fusion = framework.fusion.rules;
  options.fused_attention = BlockHardware(job).fused_attention;
  options.kernels = block_kernels(job);
  return options;
}

// Gradients that are reduced after every pass do not accumulate whole: backward writes them as they are computed.
BackwardOptions backward_options(const Job& job) {
  BackwardOptions options;
  const bool in_passes = data_parallel_plan(job).gathers_in_passes();
  options.gradient_buffer_bytes =
      in_passes && !job.strategy.divides_weights() ? bytes_per_element(job.precision()) : gradient_bytes(job);
  options.fused_accumulation = in_passes || job.framework.fusion.gradient_accumulation;
  if (!in_passes && job.precision() == Precision::bf16) {
    options.accumulation_bytes = job.framework.memory.accumulation_bytes;
  }
  options.fused_bias_sums = job.framework.fusion.bias_sums;
  options.norms = job.framework.fusion.norms;
  return options;
}

// Returns the tensors that recomputation of a module drops. For the core of attention, the MLP and experts: the tensors
// inside the module. For the other modules, which cost little to compute again: also their results.
std::vector<TensorId> tensors_of(const OperatorGraph& layer, Module module) {
  if (module == Module::alternate_products) return all_but_alternate_products(layer);
  const bool inside = module == Module::core_attention || module == Module::mlp || module == Module::experts;
  return tensors_under(layer, module_names()[static_cast<std::size_t>(module)],
                       inside ? Produced::inside : Produced::with_results);
}

std::vector<TensorId> dropped_tensors(const OperatorGraph& layer, Recompute recompute, ModuleSet modules,
                                      bool stops_early) {
  switch (recompute) {
    case Recompute::none:
      return {};
    case Recompute::selective:
      break;
    case Recompute::full:
      return stops_early ? all_but_outputs(layer) : all_activations(layer);
  }
  std::vector<TensorId> dropped;
  for (std::size_t module = 0; module < kModules; ++module) {
    if (!modules.test(module)) continue;
    const std::vector<TensorId> tensors = tensors_of(layer, static_cast<Module>(module));
    dropped.insert(dropped.end(), tensors.begin(), tensors.end());
  }
  return dropped;
}

// Returns the dropped tensors of a layer, including those that the framework always recomputes.
std::vector<TensorId> dropped_of_layer(const Job& job, const OperatorGraph& layer, Recompute recompute) {
  const bool norms = recompute == Recompute::none && job.framework.recompute.norms;
  return norms ? tensors_of(layer, Module::layer_norm)
               : dropped_tensors(layer, recompute, job.strategy.recompute_modules, job.framework.recompute.stops_early);
}

// True if rows are on their way to experts: results of dispatch, or gradients of the experts' results.
bool goes_to_experts(const OperatorGraph& graph, TensorId tensor) {
  const TensorId of = graph.tensor(tensor).of;
  const TensorId rows = of >= 0 ? of : tensor;
  const auto makes = [&](const Operator& op) {
    return op.kind == OperatorKind::dispatch && op.phase == Phase::forward &&
           std::any_of(op.outputs.begin(), op.outputs.end(), [&](const Operand& out) { return out.tensor == rows; });
  };
  const bool dispatched = std::any_of(graph.operators.begin(), graph.operators.end(), makes);
  return dispatched == (of < 0);
}

}  // namespace

bool carries_rows(const PartitionedBlock& block, const BlockStep& step) {
  return step.kind == BlockStep::Kind::collective && block.graph.tensor(step.tensor).density < 1 &&
         step.collective == CollectiveKind::all_to_all;
}

CollectiveKind collective_of(const Job& job, const PartitionedBlock& block, const BlockStep& step) {
  const bool gathers = job.strategy.expert_dispatcher == ExpertDispatcher::all_gather;
  if (!gathers || !carries_rows(block, step)) return step.collective;
  return goes_to_experts(block.graph, step.tensor) ? CollectiveKind::all_gather : CollectiveKind::reduce_scatter;
}

namespace {

bool reads_one_of(const Operator& op, const std::set<TensorId>& tensors) {
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [&](const Operand& input) { return tensors.contains(input.tensor); });
}

// Leaves out the steps of images, where no sequence has any, and of gradients that these would make. Steps that waited
// for one wait for what it waited for.
std::vector<BlockStep> without_images(const OperatorGraph& graph, const std::vector<BlockStep>& steps) {
  std::vector<BlockStep> out;
  std::vector<std::vector<int>> ended(steps.size());  // by step: the steps of `out` that have to end in its place
  std::set<TensorId> missing;                         // gradients of parameters
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const BlockStep& step = steps[i];
    std::vector<int> after;
    for (const int before : step.after) {
      const std::vector<int>& of = ended[static_cast<std::size_t>(before)];
      after.insert(after.end(), of.begin(), of.end());
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    const Operator& op = graph.op(step.op);
    const bool kernel = step.kind == BlockStep::Kind::kernel;
    const bool lacks = kernel ? lacks_images(graph, op) || reads_one_of(op, missing)
                              : graph.tensor(step.tensor).repeats == 0 || missing.contains(step.tensor);
    ended[i] = lacks ? after : std::vector{static_cast<int>(out.size())};
    if (lacks) {
      for (const Operand& result : op.outputs) {
        if (graph.tensor(result.tensor).role == TensorRole::parameter_gradient) missing.insert(result.tensor);
      }
      continue;
    }
    out.push_back(step);
    out.back().after = std::move(after);
  }
  return out;
}

void leave_out_images(PartitionedBlock& block) {
  for (std::vector<BlockStep>* steps : {&block.forward, &block.recompute, &block.backward}) {
    *steps = without_images(block.graph, *steps);
  }
}

// Shards the blocks of one job.
class BlockSharder {
 public:
  // Gradients that passes of the blocks make; without any, adapters may be switched off.
  enum class Gradients : std::uint8_t { all, none, none_without_adapters };

  explicit BlockSharder(const Job& job, Gradients gradients = Gradients::all)
      : job_(job),
        options_(block_options(job)),
        mesh_(mesh_of(job.strategy)),
        layer_rules_(axis_rules(job.strategy, job.framework.communication.scatters_in_pieces,
                                job.framework.communication.gathers_logits)),
        end_rules_(layer_rules_),
        backward_(backward_options(job)),
        quantization_(quantization_of(job)),
        forward_only_(gradients != Gradients::all) {
    if (gradients == Gradients::none_without_adapters) options_.adapters = {};
    // Frameworks overlap only the products of layers.
    std::erase_if(end_rules_, [](const AxisRule& rule) {
      return rule.on == AxisRule::On::products || rule.on == AxisRule::On::gathered_products;
    });
  }

  PartitionedBlock embedding() const {
    const auto build = [&](const BlockOptions& options) { return build_embedding_block(job_.model, options); };
    return end(built(build, options_, BlockPlace::words));
  }
  PartitionedBlock head() const {
    const RowChunks chunks = loss_chunks(job_);
    BlockOptions options = options_;
    options.kernels.casts_weights &= chunks.weight_bytes == 0;  // else each chunk does
    const auto build = [&](const BlockOptions& of) { return build_head_block(job_.model, of); };
    return end(built(build, options, BlockPlace::head), chunks);
  }
  PartitionedBlock layer(const JobLayer& layer, Recompute recompute) const {
    const auto build = [&](const BlockOptions& of) { return build_layer_block(job_.model, of, layer.kind); };
    return with_part(divide(built(build, options_), recompute, layer.narrow),
                     [&](const BlockSharder& part) { return part.layer(layer, recompute); });
  }
  PartitionedBlock prediction(const JobLayer& last) const {
    const auto build = [&](const BlockOptions& of) { return build_prediction_block(job_.model, of, last.kind); };
    return with_part(divide(built(build, options_), job_.strategy.recompute, last.narrow),
                     [&](const BlockSharder& part) { return part.prediction(last); });
  }

 private:
  // Builds a block, with its frozen parts marked; these have no adapters, nor have parts that are trained whole.
  template <class Build>
  OperatorGraph built(const Build& build, BlockOptions options, BlockPlace place = BlockPlace::layer) const {
    const FrozenParts& frozen = job_.training.frozen;
    const WholeParts whole = options.adapters.whole;
    OperatorGraph graph = build(options);
    if (forward_only_) {
      freeze_all(graph);
      return graph;
    }
    const bool bare = is_frozen(graph, frozen) || (whole.tower && leaves_images(graph));
    if (options.adapters.rank > 0 && bare) {
      options.adapters = {};
      graph = build(options);
    }
    thaw(graph, whole, place);
    freeze(graph, frozen);
    return graph;
  }

  // Adds the block of one part of a microbatch, where microbatches run in parts.
  template <class Shard>
  PartitionedBlock with_part(PartitionedBlock block, const Shard& shard) const {
    if (job_.strategy.nanobatches == 1) return block;
    Job part = job_;
    part.strategy.micro_batch /= job_.strategy.nanobatches;
    part.strategy.nanobatches = 1;
    block.part = std::make_shared<const PartitionedBlock>(shard(BlockSharder(part)));
    return block;
  }

  PartitionedBlock end(OperatorGraph forward, const RowChunks& chunks = {}) const {
    keep_gathered(forward);
    OperatorGraph graph = with_backward(std::move(forward), backward_);
    std::vector<TensorId> dropped;
    if (chunks) {
      graph = with_chunks(std::move(graph), chunks);
      if (job_.framework.kernels.recomputes_chunks) dropped = made_in_chunks(graph);
    }
    return divided(std::move(graph), end_rules_, dropped);
  }

  PartitionedBlock divided(OperatorGraph graph, std::span<const AxisRule> rules,
                           std::span<const TensorId> dropped) const {
    repeat_images(graph, job_.training.images.mean);
    PartitionedBlock block = partition(std::move(graph), mesh_, rules, dropped, sums());
    if (job_.training.images.mean == 0) leave_out_images(block);
    return block;
  }

  GradientSums sums() const {
    const bool first = job_.framework.communication.adds_before_reducing;
    return first ? GradientSums::before_reducing : GradientSums::behind_reducing;
  }

  void keep_gathered(OperatorGraph& forward) const {
    if (!job_.framework.communication.keeps_gathered) return;
    for (Operator& op : forward.operators) op.keeps_gathered |= op.kind == OperatorKind::einsum && op.linear;
  }

  // Tokens attend to tokens of their own document.
  void pack(OperatorGraph& forward) const {
    const std::vector<DocumentLength> documents = packed_documents(job_.training);
    for (Operator& op : forward.operators) {
      const bool own = op.kind == OperatorKind::attention && forward.info(op.over[1]).same_as == op.over[0];
      if (own) op.documents = documents;
    }
  }

  PartitionedBlock divide(OperatorGraph forward, Recompute recompute, bool narrow) const {
    keep_gathered(forward);
    pack(forward);
    OperatorGraph graph = with_backward(std::move(forward), backward_);
    if (narrow) graph = with_quantized_products(std::move(graph), *quantization_);
    const NarrowWeights base = frozen_weights(job_.training.adapters.base);
    if (base.bytes > 0) graph = with_narrow_weights(std::move(graph), base);
    if (const double rows = expert_load(job_) * expert_rows(job_); rows != 1) scale_expert_rows(graph, rows);
    if (const double room = expert_room(job_); room != 1) make_room(graph, room);
    const std::vector<TensorId> dropped = dropped_of_layer(job_, graph, recompute);
    return divided(std::move(graph), layer_rules_, dropped);
  }

  const Job& job_;
  BlockOptions options_;
  DeviceMesh mesh_;
  std::vector<AxisRule> layer_rules_;
  std::vector<AxisRule> end_rules_;
  BackwardOptions backward_;
  std::optional<Quantization> quantization_;
  bool forward_only_;
};

std::vector<std::pair<double, double>> weight_gradients(const PartitionedBlock& block) {
  std::vector<std::pair<double, double>> out;
  for (const BlockStep& step : block.backward) {
    if (step.kind != BlockStep::Kind::kernel || step.phase != Phase::weight_gradient) continue;
    if (block.graph.op(step.op).kind != OperatorKind::einsum) continue;
    const GemmShape shape = gemm_shape(block.graph, step);
    const std::pair gradient(shape.m, shape.n);
    if (std::find(out.begin(), out.end(), gradient) == out.end()) out.push_back(gradient);
  }
  return out;
}

// Adds the blocks of passes that only go forward, all of whose operators are named after the pass.
ForwardOnlyPass add_forward_only(const Job& job, BlockSharder::Gradients gradients, const char* name,
                                 ShardedBlocks& blocks) {
  const BlockSharder sharder(job, gradients);
  ForwardOnlyPass pass;
  pass.embedding = static_cast<BlockId>(blocks.all.size());
  blocks.all.push_back(sharder.embedding());
  for (const JobLayer& layer : job_layers(job)) blocks.all.push_back(sharder.layer(layer, Recompute::none));
  pass.head = static_cast<BlockId>(blocks.all.size());
  blocks.all.push_back(sharder.head());
  for (BlockId id = pass.embedding; id <= pass.head; ++id) {
    OperatorGraph& graph = blocks.all[static_cast<std::size_t>(id)].graph;
    graph.name.insert(0, name);
    for (Operator& op : graph.operators) op.name.insert(0, name);
    ++blocks.forward_only_blocks;
  }
  return pass;
}

// Adds the passes of training.preferences that only go forward. The model reads mismatched answers before the reference
// reads both (TRL v1.16, trainer/kto_trainer.py).
void add_forward_only(const Job& job, ShardedBlocks& blocks) {
  using Gradients = BlockSharder::Gradients;
  const Preferences& preferences = job.training.preferences;
  if (preferences.mismatched) {
    blocks.forward_only.push_back(add_forward_only(job, Gradients::none, "without gradients: ", blocks));
  }
  if (!preferences.reference_runs()) return;
  ForwardOnlyPass reference = add_forward_only(job, Gradients::none_without_adapters, "reference: ", blocks);
  reference.own_parameters = preferences.reference == Reference::model;
  blocks.forward_only.insert(blocks.forward_only.end(), preferences.mismatched ? 2 : 1, reference);
}

ShardedBlocks shard_one_shape(const Job& job) {
  const BlockSharder sharder(job);
  ShardedBlocks blocks;
  blocks.mesh = mesh_of(job.strategy);
  blocks.partly_recomputed = job.strategy.recompute_layers > 0;
  blocks.halves = schedule_of(job.strategy.schedule).splits;
  blocks.pairs = schedule_of(job.strategy.schedule).pairs;
  blocks.all.push_back(sharder.embedding());
  for (const JobLayer& layer : job_layers(job)) {
    blocks.all.push_back(sharder.layer(layer, job.strategy.recompute));
    if (!blocks.partly_recomputed) continue;
    blocks.all.push_back(sharder.layer(layer, Recompute::none));
    blocks.all.back().graph.name += " without recomputation";
  }
  if (job.model.prediction_layers > 0) blocks.all.push_back(sharder.prediction(job_layer(job, job.model.layers - 1)));
  blocks.all.push_back(sharder.head());
  add_forward_only(job, blocks);
  for (const PartitionedBlock& block : blocks.all) blocks.weight_gradients.push_back(weight_gradients(block));
  return blocks;
}

std::vector<std::shared_ptr<const ShapedStage>> shape_stages(const Job& job) {
  const std::vector<StageShape>& shapes = job.strategy.stages;
  std::vector<std::shared_ptr<const ShapedStage>> out;
  for (int stage = 0; stage < static_cast<int>(shapes.size()); ++stage) {
    const auto alike = std::find(shapes.begin(), shapes.begin() + stage, shapes[static_cast<std::size_t>(stage)]);
    if (const auto known = static_cast<std::size_t>(alike - shapes.begin()); known < out.size()) {
      out.push_back(out[known]);
      continue;
    }
    Job own = job.at(stage);
    auto blocks = std::make_shared<const ShardedBlocks>(shard_one_shape(own));
    out.push_back(std::make_shared<const ShapedStage>(
        ShapedStage{std::move(own), std::move(blocks), std::make_shared<BodyCache>()}));
  }
  return out;
}

}  // namespace

ShardedBlocks shard_blocks(const Job& job) {
  ShardedBlocks blocks = shard_one_shape(job);
  blocks.stages = shape_stages(job);
  return blocks;
}

const ShardedBlocks& ShardedBlocks::at(int stage) const {
  return stages.empty() ? *this : *stages[static_cast<std::size_t>(stage)]->blocks;
}

const Job& job_at(const Job& job, const ShardedBlocks& blocks, int stage) {
  return blocks.stages.empty() ? job : blocks.stages[static_cast<std::size_t>(stage)]->job;
}

bool gradients_return(const Job& job, const ShardedBlocks& blocks, int stage, BlockId leaving) {
  return !job.training.frozen.tower || !leaves_images(blocks.at(stage).of(leaving).graph);
}

PartitionedBlock shard_kept_layer(const Job& job, const JobLayer& layer) {
  return BlockSharder(job).layer(layer, Recompute::none);
}

std::vector<TensorId> dropped_activations(const Job& job, const PartitionedBlock& layer) {
  return dropped_of_layer(job, layer.graph, job.strategy.recompute);
}

std::vector<bool> steps_run_again(const Job& job, const PartitionedBlock& kept, const BlockBodies& bodies) {
  const std::vector<TensorId> dropped = dropped_tensors(
      kept.graph, job.strategy.recompute, job.strategy.recompute_modules, job.framework.recompute.stops_early);
  if (dropped.empty()) return {};
  const std::vector<OperatorId> again = plan_activations(kept.graph, dropped).recomputed;
  const std::vector<BlockStep>& steps = kept.part ? kept.part->forward : kept.forward;
  std::vector<bool> out;
  for (const int step : forward_origins(bodies)) {
    const OperatorId op = steps[static_cast<std::size_t>(step)].op;
    out.push_back(std::find(again.begin(), again.end(), op) != again.end());
  }
  return out;
}

namespace {

// Returns a model for each of the other node types that a stage's replicas lie on.
std::vector<CollectiveModel> other_models(const Job& job, std::span<const ReplicaClass> classes, int stage, int own) {
  std::vector<const NodeGroup*> known = {&job.hardware_of(stage, classes[static_cast<std::size_t>(own)].first())};
  std::vector<CollectiveModel> out;
  for (const ReplicaClass& alike : classes) {
    const NodeGroup& nodes = job.hardware_of(stage, alike.first());
    const bool found =
        std::any_of(known.begin(), known.end(), [&](const NodeGroup* group) { return same_hardware(*group, nodes); });
    if (found) continue;
    known.push_back(&nodes);
    out.emplace_back(nodes.hardware, job.cluster.fabric());
  }
  return out;
}

}  // namespace

StageCosts::StageCosts(const Job& job, std::span<const ReplicaClass> classes, int stage, int own,
                       const StageCosts* same_stage)
    : hardware(&job.hardware_of(stage, classes[static_cast<std::size_t>(own)].first())),
      kernels(hardware->hardware.gpu, kernel_precision(job), job.attention_kernels()),
      communication(hardware->hardware, job.cluster.fabric()),
      others(other_models(job, classes, stage, own)) {
  kernels.set_time_factor(hardware->hardware.spec.time_factors().compute);
  kernels.set_surroundings(kernel_surroundings(job, hardware->hardware.gpu));
  communication.set_max_channels(job.strategy.communication_sms);
  for (CollectiveModel& other : others) other.set_max_channels(job.strategy.communication_sms);
  const int first = placed_as(job, classes[static_cast<std::size_t>(own)]);
  const auto group = [&](const std::vector<int>& ranks) { return communication_group(job, ranks); };
  const auto in_passes = [&](const std::vector<int>& ranks) {
    const CommunicationGroup out = group(ranks);
    passes_cross_leaves = passes_cross_leaves || out.crosses_leaves;
    return alone(out);
  };
  tensor_group = in_passes(job.tensor_group(stage, first));
  context_group = in_passes(job.context_group(stage, first));
  heads_group = in_passes(job.heads_group(stage, first));
  whole_context_group = in_passes(job.group_over(stage, context_axes(job.strategy), first));
  expert_group = in_passes(job.group_over(stage, expert_axes(job.strategy), first));
  data_group = same_stage != nullptr ? same_stage->data_group : group(job.data_group(stage));
  const bool one_shard_group = job.strategy.shards() == job.strategy.replicas();
  shard_group = one_shard_group ? data_group : group(job.shard_group(stage, first));
  expert_data_group = same_stage != nullptr ? same_stage->expert_data_group : group(job.expert_data_group(stage));
  across_group = same_stage != nullptr ? same_stage->across_group : group(job.across_group(stage));
  if (job.strategy.zero_second_group > 0) {
    second_group = group(job.neighbours(stage, first, job.strategy.zero_second_group));
  }
  if (job.strategy.quantized_reductions) {
    node_group = group(job.neighbours(stage, first, job.places_in_node()));
    between_nodes_group = group(job.spread(stage, job.places_in_node()));
  }
  if (!job.strategy.divides_weights()) return;
  weights_group = group(job.neighbours(stage, first, job.strategy.weight_group()));
  weight_copies_group = group(job.spread(stage, job.strategy.weight_group()));
  expert_weights_group = group(job.expert_neighbours(stage, first, job.strategy.expert_weight_group()));
  expert_weight_copies_group = group(job.expert_spread(stage, job.strategy.expert_weight_group()));
}

const CommunicationGroup& StageCosts::group_over(MeshAxisSet axes) const {
  if (axes == MeshAxisSet(MeshAxis::tensor)) return tensor_group;
  if (axes == MeshAxisSet(MeshAxis::context)) return context_group;
  if (axes == MeshAxisSet(MeshAxis::heads)) return heads_group;
  return is_of_context(axes) ? whole_context_group : expert_group;
}

namespace {

// Bytes of an exchange of rows. The fullest rank decides: it receives or returns the most rows. A gather brings all
// tokens to every rank.
double exchanged_bytes(const Job& job, const BlockStep& step) {
  const bool gathers = job.strategy.expert_dispatcher == ExpertDispatcher::all_gather;
  return gathers ? step.bytes / (expert_load(job) * expert_rows(job)) : step.bytes;
}

}  // namespace

CommunicationCost price_collective_step(const Job& job, const PartitionedBlock& block, const BlockStep& step,
                                        const StageCosts& costs) {
  const CommunicationGroup& group = costs.group_over(step.over);
  if (!carries_rows(block, step)) return costs.communication.price(step.collective, step.bytes, group);
  return price_expert_exchange(costs.communication, collective_of(job, block, step), exchanged_bytes(job, step), group,
                               exchange_of(job));
}

Explanation explain_collective_step(const Job& job, const PartitionedBlock& block, const BlockStep& step,
                                    const StageCosts& costs) {
  const CommunicationGroup& group = costs.group_over(step.over);
  if (!carries_rows(block, step)) return costs.communication.explain(step.collective, step.bytes, group);
  return explain_expert_exchange(costs.communication, collective_of(job, block, step), exchanged_bytes(job, step),
                                 group, exchange_of(job));
}

namespace {

// Folds a block inside of a row, with a time that no row of such blocks falls below: at the end of a row, the late
// steps that are handed on may run during the last collective.
FoldedBody fold_in_row(const RowBodies& row) {
  FoldedBody out = row.placed({true, true}).folded;
  const auto device = [&](bool takes, bool hands) { return row.placed({takes, hands}).folded.device; };
  out.device = std::min({out.device, device(false, false), (device(false, true) + device(true, false)) / 2});
  return out;
}

// Prices the passes of a block whose microbatch runs as two parts.
void price_parts(const Job& job, const PartitionedBlock& part, const StageCosts& costs, BlockBodies& out) {
  const double memory = shared_memory_bytes_per_s(costs.hardware->hardware.gpu);
  out.forward_row = row_bodies(forward_body(job, part, costs), memory);
  out.backward_row = row_bodies(backward_body(job, part, costs), memory);
  out.forward = out.forward_row.placed({true, true}).steps.body;
  out.backward = out.backward_row.placed({true, true}).steps.body;
}

// Returns the making of narrow copies of a rank's part of divided weights.
FoldedBody of_part(const Job& job, FoldedBody update) {
  const Strategy& s = job.strategy;
  const bool experts = job.model.mixture.experts > 0;
  const int parts = experts ? std::min(s.weight_group(), s.expert_weight_group()) : s.weight_group();
  update.device /= parts;
  for (double* const of_all : {&update.flop, &update.bytes, &update.energy_j}) *of_all /= parts;
  for (double& seconds : update.activity_s) seconds /= parts;
  return update;
}

}  // namespace

BlockBodies price_block(const Job& job, const PartitionedBlock& block, const StageCosts& costs, bool halves) {
  BlockBodies out;
  if (block.part) {
    price_parts(job, *block.part, costs, out);
  } else {
    out.forward = forward_body(job, block, costs);
    out.backward = backward_body(job, block, costs);
  }
  out.folded_update = of_part(job, fold(update_body(job, block, costs)));
  if (job.training.optimizer == Optimizer::muon) {
    out.orthogonalization = price_orthogonalization(block, costs.kernels);
  }
  if (job.training.low_rank_gradients.any()) out.low_rank = price_low_rank_step(job, block, costs.kernels);
  out.folded_forward = block.part ? fold_in_row(out.forward_row) : fold(out.forward);
  out.folded_backward = block.part ? fold_in_row(out.backward_row) : fold(out.backward);
  const double missing = uncounted_flop(job, block, costs);
  out.model_flop = 3 * out.folded_forward.flop - missing;
  out.visible_flop = 3 * out.folded_forward.executed_flop - missing;
  out.settled_clock = costs.kernels.settled_share();
  if (halves) {
    out.split = split_body(block, out.backward);
    out.folded_backward_input = fold(out.split.inputs);
    out.folded_backward_weight = fold(out.split.weights);
  }
  return out;
}

}  // namespace mirfak
