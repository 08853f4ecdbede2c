#include "strategy/rules.hpp"

#include <fmt/format.h>
#include "schedule/schedule.hpp"
#include "strategy/document_rules.hpp"
#include "strategy/expert_room_rules.hpp"
#include "strategy/habit_rules.hpp"
#include "strategy/precision_recipe.hpp"
#include "strategy/preference_rules.hpp"
#include "strategy/sharding_rules.hpp"
#include "strategy/stage_rules.hpp"
#include "strategy/state_rules.hpp"
#include "strategy/weight_rules.hpp"
#include "strategy/zero_stage.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace mirfak {

namespace {

using Broken = std::optional<Violation>;

// Formats the sizes that divide the model: "tensor 4 x context 2 x pipeline 8"; a context size of 1 is left out.
std::string model_sizes(const Strategy& s) {
  const std::string context = s.context > 1 ? fmt::format(" x context {}", s.context) : "";
  return fmt::format("tensor {}{} x pipeline {}", s.tensor, context, s.pipeline);
}

Broken gpus_divide(const RuleInput& in) {
  if (!in.strategy.stages.empty()) return std::nullopt;
  const std::int64_t model_parallel = std::int64_t{in.strategy.team()} * in.strategy.pipeline;
  if (in.gpus % model_parallel == 0) return std::nullopt;
  return Violation{"strategy.tensor",
                   fmt::format("{} GPUs cannot be divided into groups of {} = {}", in.gpus, model_sizes(in.strategy),
                               model_parallel),
                   "choose sizes whose product divides the number of GPUs, or change cluster.nodes"};
}

Broken data_fills(const RuleInput& in) {
  if (in.strategy.ranks() == in.gpus || !in.strategy.stages.empty()) return std::nullopt;
  return Violation{"strategy.data",
                   fmt::format("{} x data {} = {} ranks, but the cluster has {} GPUs", model_sizes(in.strategy),
                               in.strategy.data, in.strategy.ranks(), in.gpus),
                   "leave strategy.data out to use all GPUs"};
}

// Checks, for a model of blocks, every axis that tensor ranks divide, except the vocabulary, which is padded, and the
// key/value heads, which are replicated.
Broken axes_divide(const RuleInput& in) {
  for (const DividedAxis& axis : in.model.divided) {
    const bool whole = axis.divided_by != Parallelism::tensor || axis.name == "vocab" || axis.name == "kv_heads";
    if (whole || axis.extent % in.strategy.tensor == 0) continue;
    return Violation{
        "strategy.tensor",
        fmt::format("the axis {} of {} cannot be divided over tensor {}", axis.name, axis.extent, in.strategy.tensor),
        fmt::format("possible sizes: {}", divisors(in.model.heads, in.gpus))};
  }
  return std::nullopt;
}

Broken heads_divide(const RuleInput& in) {
  if (!in.model.blocks.empty()) {
    if (Broken broken = axes_divide(in)) return broken;
  }
  if (in.model.heads % in.strategy.tensor == 0) return std::nullopt;
  const auto of_blocks = in.model.sizes.find("heads");
  const double heads = of_blocks == in.model.sizes.end() ? static_cast<double>(in.model.heads) : of_blocks->second;
  return Violation{"strategy.tensor",
                   fmt::format("{} attention heads cannot be divided over tensor {}", heads, in.strategy.tensor),
                   fmt::format("possible sizes: {}", divisors(in.model.heads, in.gpus))};
}

Broken kv_heads_divide(const RuleInput& in) {
  const std::int64_t groups = in.model.kv_heads;
  if (groups % in.strategy.tensor == 0) return std::nullopt;
  const bool of_blocks = !in.model.blocks.empty();  // models of blocks may have heads without keys of their own
  if (!of_blocks && !in.framework.parallelism.replicates_heads) {
    return Violation{
        "strategy.tensor",
        fmt::format("{} divides key/value heads over tensor ranks and replicates none: {} heads, tensor {}",
                    in.framework.name, groups, in.strategy.tensor),
        fmt::format("possible sizes: {}", divisors(groups, groups))};
  }
  if (in.strategy.tensor % groups == 0) return std::nullopt;
  return Violation{"strategy.tensor",
                   fmt::format("{} key/value heads can be neither divided over nor replicated to tensor {}", groups,
                               in.strategy.tensor),
                   "one of the two must divide the other"};
}

Broken ffn_divides(const RuleInput& in) {
  const MixtureOfExperts& mixture = in.model.mixture;
  const int tensor = in.strategy.tensor;
  if (mixture.experts > 0 && mixture.ffn % in.strategy.tensor_of_experts() != 0) {
    return Violation{"strategy.expert_tensor",
                     fmt::format("the experts' size {} cannot be divided over tensor {}", mixture.ffn,
                                 in.strategy.tensor_of_experts()),
                     fmt::format("possible sizes: {}", divisors(mixture.ffn, tensor))};
  }
  if (mixture.shared_ffn % tensor != 0) {
    return Violation{
        "strategy.tensor",
        fmt::format("the shared experts' size {} cannot be divided over tensor {}", mixture.shared_ffn, tensor),
        fmt::format("possible sizes: {}", divisors(mixture.shared_ffn, in.model.heads))};
  }
  if (in.model.ffn % tensor == 0) return std::nullopt;
  return Violation{"strategy.tensor",
                   fmt::format("the MLP size {} cannot be divided over tensor {}", in.model.ffn, in.strategy.tensor),
                   fmt::format("possible sizes: {}", divisors(in.model.ffn, in.model.heads))};
}

Broken experts_divide(const RuleInput& in) {
  const int expert = in.strategy.expert;
  if (expert == 1) return std::nullopt;
  const std::int64_t experts = in.model.mixture.experts;
  if (experts > 0 && experts % expert == 0) return std::nullopt;
  return Violation{
      "strategy.expert",
      experts == 0 ? "the model has no experts to divide"
                   : fmt::format("{} experts cannot be divided over {} expert-parallel ranks", experts, expert),
      experts == 0 ? "leave strategy.expert out" : fmt::format("possible sizes: {}", divisors(experts, in.gpus))};
}

Broken experts_have_ranks(const RuleInput& in) {
  const Strategy& s = in.strategy;
  const int etp = s.tensor_of_experts();
  if (etp != 1 && etp != s.tensor) {
    return Violation{"strategy.expert_tensor",
                     fmt::format("each expert can be whole (1) or divided as the rest of the model (tensor {}), not {}",
                                 s.tensor, etp),
                     "choose one of the two"};
  }
  if (s.expert == 1) return std::nullopt;
  const ExpertSpan span = s.expert_span();
  const bool whole_teams = (etp > 1 || s.tensor == 1 || span.tensor) && (span.context || s.context == 1);
  if (s.data % span.data == 0 && (whole_teams || span.data == 1)) return std::nullopt;
  return Violation{
      "strategy.expert",
      fmt::format("{} expert-parallel ranks, {} for each expert, cannot be cut out of tensor {} x context {} x data {}",
                  s.expert, etp, s.tensor, s.context, s.data),
      "expert times expert_tensor must take whole tensor and context groups and divide their number of ranks"};
}

Broken experts_need_sequence(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (in.model.mixture.experts == 0 || s.tensor == 1 || s.sequence_parallel) return std::nullopt;
  return Violation{"strategy.sequence_parallel",
                   "experts together with tensor parallelism need tokens divided over the tensor ranks",
                   "set it to true"};
}

Broken sequence_divides(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (!s.sequence_parallel || in.training.sequence_length % s.team() == 0) return std::nullopt;
  const std::string context = s.context > 1 ? fmt::format(" x context {}", s.context) : "";
  return Violation{"strategy.sequence_parallel",
                   fmt::format("the sequence of {} tokens cannot be divided over tensor {}{}",
                               in.training.sequence_length, s.tensor, context),
                   "turn sequence_parallel off or change training.sequence_length"};
}

Broken adapters_divide(const RuleInput& in) {
  const LowRankAdapters& adapters = in.training.adapters;
  const bool by_columns = adapters.query_key_value || adapters.mlp_up;
  if (adapters.rank == 0 || !by_columns || adapters.rank % in.strategy.tensor == 0) return std::nullopt;
  return Violation{
      "strategy.tensor",
      fmt::format("adapters of rank {} cannot be divided over tensor {}", adapters.rank, in.strategy.tensor),
      "choose a divisor of training.lora.rank"};
}

// Checks that a rank is at most the hidden size: a product of rank r replaces a product whose smaller dimension is at
// most the hidden size, so a higher rank saves nothing.
Broken adapters_are_low(const RuleInput& in) {
  const LowRankAdapters& adapters = in.training.adapters;
  if (adapters.rank <= in.model.hidden) return std::nullopt;
  return Violation{"training.lora",
                   fmt::format("adapters of rank {} are wider than the hidden size {}", adapters.rank, in.model.hidden),
                   "a rank is far below it, such as 16"};
}

// Checks that the framework has frozen weights in few bits if the job has them, and that products are in 16 bits.
Broken bases_are_known(const RuleInput& in) {
  const LowRankAdapters& adapters = in.training.adapters;
  if (adapters.base == FrozenBase::as_trained) return std::nullopt;
  if (!in.framework.adapters.narrow_bases) {
    return Violation{"training.lora.base",
                     fmt::format("the framework {} keeps frozen weights as they are trained", in.framework.name),
                     "leave the key out, or choose a framework whose file says adapters: narrow_bases"};
  }
  const PrecisionRecipe* const recipe = find_precision_recipe(in.training.precision);
  if (recipe == nullptr || !recipe->narrow()) return std::nullopt;
  return Violation{"training.lora.base",
                   fmt::format("products in {} read weights of their own format", in.training.precision),
                   "a base in 4 or 8 bits is widened for products in 16 bits: training.precision bf16 or fp16"};
}

Broken positions_suffice(const RuleInput& in) {
  const ModelSpec& model = in.model;
  const bool limited = model.blocks.empty() && model.position == PositionEncoding::learned;
  if (!limited || in.training.sequence_length <= model.max_sequence) return std::nullopt;
  return Violation{"training.sequence_length",
                   fmt::format("the model has learned positions for {} tokens, not {}", model.max_sequence,
                               in.training.sequence_length),
                   "shorten the sequences, or raise max_sequence in a model file of your own"};
}

Broken overlap_needs_sequence(const RuleInput& in) {
  if (!in.strategy.overlap_tensor || in.strategy.sequence_parallel) return std::nullopt;
  return Violation{"strategy.overlap_tensor",
                   "products overlap with gathered or scattered tokens only: it needs sequence_parallel",
                   "set strategy.sequence_parallel: true or leave overlap_tensor out"};
}

Broken recomputed_layers(const RuleInput& in) {
  if (in.strategy.recompute_layers == 0 || in.strategy.recompute != Recompute::none) return std::nullopt;
  return Violation{"strategy.recompute_layers",
                   fmt::format("{} layers of each chunk are to be recomputed, but strategy.recompute is none",
                               in.strategy.recompute_layers),
                   "set strategy.recompute: full or selective"};
}

// Sources: megatron/core/recompute.py; multi_token_prediction.py takes single layers. Parameters that are gathered
// layer by layer would be gathered twice for a group.
Broken recomputed_groups(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.recompute_method == RecomputeMethod::block) return std::nullopt;
  constexpr const char* key = "strategy.recompute_method";
  if (!in.framework.recompute.groups) {
    return Violation{key, fmt::format("{} recomputes layers one by one", in.framework.name), "set it to block"};
  }
  if (s.recompute != Recompute::full) {
    return Violation{key, "groups of layers are recomputed in full only", "set strategy.recompute: full"};
  }
  if (s.recompute_layers == 0) {
    return Violation{key, "the number of layers of a group is missing", "give strategy.recompute_layers"};
  }
  if (s.recompute_layers > 1 && in.model.prediction_layers > 0) {
    return Violation{key, "layers of multi-token prediction are recomputed one by one", "set it to block"};
  }
  if (s.offload_layers > 0) {
    return Violation{key, "groups of recomputed layers keep nothing that strategy.offload_layers could offload",
                     "set it to block"};
  }
  if (zero_stage(in.framework, s.zero).parameters) {
    return Violation{key, "groups of layers are recomputed where parameters stay whole", "set it to block"};
  }
  return std::nullopt;
}

// Source: megatron/core/transformer/transformer_config.py allows no pipeline stages with offloaded activations.
Broken offloaded_layers(const RuleInput& in) {
  if (in.strategy.offload_layers == 0 || in.strategy.pipeline == 1) return std::nullopt;
  return Violation{
      "strategy.offload_layers",
      fmt::format("activations cannot wait in the host's memory with {} pipeline stages", in.strategy.pipeline),
      "set strategy.pipeline: 1 or leave offload_layers out"};
}

Broken whole_matrices(const RuleInput& in) {
  if (in.training.optimizer != Optimizer::muon || in.strategy.zero < 2) return std::nullopt;
  return Violation{"strategy.zero",
                   fmt::format("Muon steps whole matrices, of which ZeRO {} divides gradients", in.strategy.zero),
                   "set strategy.zero: 1 or 0, or choose another training.optimizer"};
}

// Checks the sequence length: causal attention is balanced by an early and a late piece of it for each rank.
Broken context_divides(const RuleInput& in) {
  const int context = in.strategy.context;
  if (context == 1 || in.training.sequence_length % (2 * std::int64_t{context}) == 0) return std::nullopt;
  return Violation{"strategy.context",
                   fmt::format("the sequence of {} tokens cannot be divided into 2 pieces for each of {} context ranks",
                               in.training.sequence_length, context),
                   "change training.sequence_length"};
}

Broken context_heads_divide(const RuleInput& in) {
  const Strategy& s = in.strategy;
  const bool all_to_all = s.context > 1 && s.context_communication == ContextCommunication::all_to_all;
  if (!all_to_all || in.model.kv_heads % s.team() == 0) return std::nullopt;
  return Violation{"strategy.context_communication",
                   fmt::format("{} key/value heads cannot be divided over tensor {} x context {} inside attention",
                               in.model.kv_heads, s.tensor, s.context),
                   "set it to p2p or all-gather, which divide tokens"};
}

Broken context_heads_group(const RuleInput& in) {
  const Strategy& s = in.strategy;
  const int heads = s.context_heads;
  if (heads == 1) return std::nullopt;
  constexpr const char* key = "strategy.context_heads";
  if (s.context % heads != 0 || s.context == heads) {
    return Violation{key,
                     fmt::format("groups of {} cannot be several equal ones of {} context ranks", heads, s.context),
                     "choose a divisor of strategy.context below it; with context_communication: a2a all divide heads"};
  }
  if (s.context_communication == ContextCommunication::all_to_all) {
    return Violation{key, "with a2a, all context ranks divide heads", "leave it out, or choose p2p or all-gather"};
  }
  if (in.model.kv_heads % (s.tensor * heads) == 0) return std::nullopt;
  return Violation{
      key,
      fmt::format("{} key/value heads cannot be divided over tensor {} x {} context ranks inside attention",
                  in.model.kv_heads, s.tensor, heads),
      "lower it"};
}

Broken chunks_fit_schedule(const RuleInput& in) {
  const Schedule& schedule = schedule_of(in.strategy.schedule);
  const int chunks = in.strategy.virtual_pipeline;
  if (schedule.chunks == 1 && chunks > 1) {
    return Violation{"strategy.virtual_pipeline",
                     fmt::format("{} chunks per stage need the interleaved schedule", chunks),
                     "set strategy.schedule: interleaved-1f1b"};
  }
  if (schedule.chunks > 1 && chunks != schedule.chunks) {
    return Violation{"strategy.virtual_pipeline",
                     fmt::format("{} has {} chunks per stage, not {}", schedule.name, schedule.chunks, chunks),
                     "leave strategy.virtual_pipeline out"};
  }
  PipelineShape shape = pipeline_shape(in.strategy, 1);
  if (schedule.in_groups) shape.microbatches = shape.group;  // no message is made for searches to throw away
  const std::optional<Unfit> unfit = schedule.unfit(shape);
  if (!unfit || unfit->size != Unfit::Size::stages) return std::nullopt;
  return Violation{"strategy.schedule", unfit->message, unfit->hint};
}

// Describes the layers to split: "126 layers", "126 layers with embedding and head".
std::string split_layers(const RuleInput& in) {
  const bool embedding = in.strategy.account_for_embedding_in_pipeline_split;
  const bool loss = in.strategy.account_for_loss_in_pipeline_split;
  return fmt::format("{} layers{}", in.model.layers,
                     embedding && loss ? " with embedding and head"
                     : embedding       ? " with the embedding"
                     : loss            ? " with the head"
                                       : "");
}

// Source: megatron/training/arguments.py: a layout of the pipeline excludes the options that count something as a
// layer.
Broken stated_layers(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.counted_as_layers() > 0) {
    return Violation{"strategy.layer_split", "layers are stated, and embedding or head counted as one",
                     "leave out layer_split, or account_for_embedding_in_pipeline_split and "
                     "account_for_loss_in_pipeline_split"};
  }
  const auto sum = std::accumulate(s.layer_split.begin(), s.layer_split.end(), std::int64_t{0});
  if (static_cast<std::int64_t>(s.layer_split.size()) == parts_of(s) && sum == in.model.layers) return std::nullopt;
  return Violation{"strategy.layer_split",
                   fmt::format("{} entries with {} layers in all, expected {} entries (pipeline {} x virtual_pipeline "
                               "{}) with {}",
                               s.layer_split.size(), sum, parts_of(s), s.pipeline, s.virtual_pipeline, in.model.layers),
                   {}};
}

Broken layers_divide(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (!s.layer_split.empty()) return stated_layers(in);
  const std::int64_t layers = in.model.layers + s.counted_as_layers();
  const std::int64_t chunks = parts_of(s);
  if (layers % chunks == 0) return std::nullopt;
  return Violation{
      s.virtual_pipeline > 1 ? "strategy.virtual_pipeline" : "strategy.pipeline",
      fmt::format("{} cannot be divided into pipeline {} x virtual_pipeline {} = {} chunks", split_layers(in),
                  s.pipeline, s.virtual_pipeline, chunks),
      fmt::format("the product must be one of {}; or give strategy.layer_split", divisors(layers, layers))};
}

// Returns the number of layers of the chunk with the most.
std::int64_t max_layers_of_chunk(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (!s.layer_split.empty()) return *std::max_element(s.layer_split.begin(), s.layer_split.end());
  return (in.model.layers + s.counted_as_layers()) / parts_of(s);
}

Broken layers_are_there(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.recompute_layers > max_layers_of_chunk(in)) {
    return Violation{"strategy.recompute_layers",
                     fmt::format("{} layers of each chunk are to be recomputed, but the largest has {}",
                                 s.recompute_layers, max_layers_of_chunk(in)),
                     "leave it out to recompute all"};
  }
  if (s.offload_layers <= in.model.layers) return std::nullopt;
  return Violation{
      "strategy.offload_layers",
      fmt::format("{} layers are to be offloaded, but the model has {}", s.offload_layers, in.model.layers),
      fmt::format("expected at most {}", in.model.layers)};
}

Broken batch_divides(const RuleInput& in) {
  const std::int64_t at_once = std::int64_t{in.strategy.micro_batch} * in.strategy.data;
  if (!in.strategy.replica_microbatches.empty() || in.training.global_batch % at_once == 0) return std::nullopt;
  return Violation{"training.global_batch",
                   fmt::format("a global batch of {} cannot be divided into micro_batch {} x data {} = {}",
                               in.training.global_batch, in.strategy.micro_batch, in.strategy.data, at_once),
                   "the global batch must be a multiple of it, or give strategy.replica_microbatches"};
}

Broken replicas_share_batch(const RuleInput& in) {
  const Strategy& s = in.strategy;
  const std::vector<int>& counts = s.replica_microbatches;
  if (counts.empty()) return std::nullopt;
  const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const bool fills = std::all_of(counts.begin(), counts.end(), [](int count) { return count >= 1; }) &&
                     sum * s.micro_batch == in.training.global_batch;
  if (static_cast<int>(counts.size()) == s.data && fills) return std::nullopt;
  return Violation{"strategy.replica_microbatches",
                   fmt::format("{} entries with {} microbatches of {} in all, expected {} entries (data) of at least 1 "
                               "that make up a global batch of {}",
                               counts.size(), sum, s.micro_batch, s.data, in.training.global_batch),
                   "change the entries, strategy.micro_batch or training.global_batch"};
}

// Replicas that communicate in every pass must run the same number of microbatches: all replicas if gradients are
// reduced after every backward pass, otherwise the replicas that divide experts among them.
Broken meetings_need_even_batch(const RuleInput& in) {
  const Strategy& s = in.strategy;
  const std::vector<int>& counts = s.replica_microbatches;
  const bool all = s.zero >= 2;
  const std::size_t together = static_cast<std::size_t>(all ? s.data : s.expert_span().data);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const int first = counts[i - i % together];
    if (counts[i] == first) continue;
    return Violation{
        "strategy.replica_microbatches",
        fmt::format("replicas {} and {} meet in every pass ({}), but run {} and {} microbatches", i - i % together, i,
                    all ? fmt::format("ZeRO {}", s.zero) : "expert parallelism", first, counts[i]),
        all ? "make the entries equal, or choose strategy.zero: 0 or 1"
            : "make the entries of each expert-parallel group equal"};
  }
  return std::nullopt;
}

Broken microbatches_fit_schedule(const RuleInput& in) {
  const Strategy& s = in.strategy;
  const Schedule& schedule = schedule_of(s.schedule);
  const PipelineShape shape = pipeline_shape(s, microbatches(s, in.training));
  if (schedule.in_groups && shape.group < s.pipeline) {
    return Violation{"strategy.microbatch_group",
                     fmt::format("{} is less than the {} pipeline stages", shape.group, s.pipeline),
                     "with fewer, a stage would wait for its own later work"};
  }
  for (const int count : s.replica_microbatches) {
    const std::optional<Unfit> unfit = schedule.unfit(pipeline_shape(s, count));
    if (!unfit) continue;
    return Violation{"strategy.replica_microbatches", unfit->message, "change the entries"};
  }
  if (!s.replica_microbatches.empty()) return std::nullopt;
  const std::optional<Unfit> unfit = schedule.unfit(shape);
  if (!unfit) return std::nullopt;
  return Violation{"strategy.schedule", unfit->message, unfit->hint};
}

Broken in_flight_is_limited(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.max_in_flight == 0 || schedule_of(s.schedule).needs_times) return std::nullopt;
  return Violation{"strategy.max_in_flight",
                   fmt::format("the order of {} decides itself what stages keep", schedule_of(s.schedule).name),
                   "leave it out, or set strategy.schedule: zb-auto"};
}

Broken framework_divides(const RuleInput& in) {
  const ParallelismHabits& has = in.framework.parallelism;
  struct Way {
    const char* key;
    int size;
    bool implemented;
  };
  for (const Way& way :
       {Way{"tensor", in.strategy.tensor, has.tensor}, Way{"pipeline", in.strategy.pipeline, has.pipeline},
        Way{"context", in.strategy.context, has.context}, Way{"expert", in.strategy.expert, has.expert}}) {
    if (way.size == 1 || way.implemented) continue;
    return Violation{fmt::format("strategy.{}", way.key),
                     fmt::format("{} has no {} parallelism", in.framework.name, way.key),
                     "set it to 1, or choose another training.framework"};
  }
  return std::nullopt;
}

// A rule, and if it reads how the state is divided, offloaded or communicated (reads_state()).
struct StatedRule {
  bool reads_state = false;
  Rule rule;
};
constexpr StatedRule of_state(std::string_view name, std::string_view sentence, decltype(Rule::check) check) {
  return {true, {name, sentence, check}};
}
constexpr StatedRule of_layout(std::string_view name, std::string_view sentence, decltype(Rule::check) check) {
  return {false, {name, sentence, check}};
}

constexpr std::array kStatedRules = {
    of_layout(
        "stages-are-shaped",
        "Stages of their own shape take all GPUs, divide a microbatch evenly, and send their neighbours equal pieces.",
        stages_are_shaped),
    of_layout("gpus-divide", "Tensor times context times pipeline size divides the number of GPUs.", gpus_divide),
    of_layout("data-fills", "Tensor, context, pipeline and data size multiply to the number of GPUs.", data_fills),
    of_layout("heads-divide", "The tensor size divides the attention heads.", heads_divide),
    of_layout(
        "kv-heads-divide",
        "The tensor size divides the key/value heads, or is a multiple of them where the framework replicates them.",
        kv_heads_divide),
    of_layout("ffn-divides", "The tensor size divides the inner size of the MLP.", ffn_divides),
    of_layout("experts-divide", "The expert-parallel size divides the experts.", experts_divide),
    of_layout(
        "experts-have-ranks",
        "Expert groups take whole tensor and context groups and divide the ranks of a stage; an expert is whole or "
        "divided as the rest of the model.",
        experts_have_ranks),
    of_layout("experts-need-sequence",
              "Experts and tensor parallelism together need sequence parallelism, as in Megatron Core.",
              experts_need_sequence),
    of_layout("sequence-divides", "With sequence parallelism the tensor size divides the sequence.", sequence_divides),
    of_layout("adapters-divide", "The tensor size divides the rank of adapters next to layers divided by columns.",
              adapters_divide),
    of_layout("adapters-decompose", "DoRA needs a framework that has it, and whole layers.", adapters_decompose),
    of_layout("loss-in-chunks", "Head and loss run in equal chunks of a sequence where the framework has them.",
              loss_in_chunks),
    of_layout("adapters-are-low", "The rank of adapters is at most the hidden size.", adapters_are_low),
    of_state("gradients-are-projected",
             "The framework keeps states of Adam or Adafactor for projections of gradients of whole matrices.",
             gradients_are_projected),
    of_layout("bases-are-known", "Frozen weights in 4 or 8 bits need a framework that has them.", bases_are_known),
    of_layout("forward-passes-are-whole",
              "Passes without gradients (training.preferences) are of a model that no pipeline stages divide.",
              forward_passes_are_whole),
    of_state("copies-are-gathered",
             "Passes without gradients are of weights that no replicas divide, and gather a sharded frozen copy anew.",
             copies_are_gathered),
    of_layout("positions-suffice", "A model with learned positions has one for each token of a sequence.",
              positions_suffice),
    of_layout("overlap-needs-sequence", "Overlapped tensor-parallel collectives need sequence parallelism.",
              overlap_needs_sequence),
    of_layout(
        "halves-run-beside",
        "Microbatches run as two halves only where the framework has that, ranks exchange data inside passes, and the "
        "halves are equal.",
        halves_run_beside),
    of_layout("ranks-are-ordered",
              "The framework numbers ranks in the order, and experts lie within a replica if replicas come last.",
              ranks_are_ordered),
    of_layout("recomputed-layers", "A number of recomputed layers needs recomputation.", recomputed_layers),
    of_state("recomputed-groups",
             "Groups of layers are recomputed in full, where the framework does and parameters are whole.",
             recomputed_groups),
    of_layout("offloaded-layers", "Activations wait in the host's memory without pipeline stages only.",
              offloaded_layers),
    of_state("offloaded-optimizer", "The framework has the optimizer on the host, with its sharded state and Adam.",
             offloaded_optimizer),
    of_state(
        "offloaded-parameters",
        "The framework has parameters on the host, with ZeRO 3, and together with the optimizer where it has no other "
        "way.",
        offloaded_parameters),
    of_layout("offloaded-modules",
              "The framework has activations of modules on the host, of layers that are not recomputed in full, and "
              "without pairs of passes.",
              offloaded_modules),
    of_state("state-on-disks",
             "The framework has state on disks, with ZeRO 3, of an optimizer and parameters that are on the host.",
             state_on_disks),
    of_state("whole-matrices", "Muon steps with ZeRO 1 at most, which divides whole matrices over ranks.",
             whole_matrices),
    of_layout("context-divides", "Twice the context size divides the sequence.", context_divides),
    of_layout("context-heads-divide", "With all-to-all the tensor times context size divides the key/value heads.",
              context_heads_divide),
    of_layout(
        "context-heads-group",
        "Groups of context ranks that divide heads are several, equal, and divide the key/value heads with the tensor "
        "ranks.",
        context_heads_group),
    of_layout("documents-are-spread",
              "The framework gives each document as many ranks as its length asks, which hold the longest, and no part "
              "of the strategy has them meet in between.",
              documents_are_spread),
    of_layout("chunks-fit-schedule", "Each stage has as many chunks as the schedule, which takes as many stages.",
              chunks_fit_schedule),
    of_layout(
        "layers-divide",
        "The layers, and embedding or head where they count as one, divide evenly over chunks unless layer_split says "
        "otherwise.",
        layers_divide),
    of_layout("layers-are-there", "No more layers are recomputed or offloaded than there are.", layers_are_there),
    of_layout("batch-divides",
              "Micro batch times data size divides the global batch unless replicas take uneven parts.", batch_divides),
    of_layout("replicas-share-batch",
              "The microbatches of all replicas make up the global batch, each has at least one.",
              replicas_share_batch),
    of_state("meetings-need-even-batch",
             "Replicas that communicate in every pass (ZeRO 2 and 3, experts) run equally many microbatches.",
             meetings_need_even_batch),
    of_layout("framework-divides", "The framework implements the ways in which the model is divided.",
              framework_divides),
    of_state("framework-shards",
             "The framework implements the ZeRO stage, also with pipeline stages where there are any.",
             framework_shards),
    of_state(
        "zero-group-divides",
        "The framework shards in groups with this ZeRO stage; a group divides the data-parallel ranks, and there are "
        "as "
        "many replicas of the experts.",
        zero_group_divides),
    of_state(
        "second-copy-divides",
        "The framework keeps a second copy of parameters that ZeRO 3 shards over all data-parallel ranks, which its "
        "groups divide.",
        second_copy_divides),
    of_state("exchanges-are-quantized",
             "The framework quantizes gathers and reductions of parameters that ZeRO 3 shards over all "
             "data-parallel ranks.",
             exchanges_are_quantized),
    of_state("buffers-are-registered",
             "The framework registers the buffers of replicas, which gather and reduce-scatter (ZeRO).",
             buffers_are_registered),
    of_state("weights-are-divided",
             "The framework divides weights over replicas, whose groups divide the replicas that hold the same part.",
             weights_are_divided),
    of_layout(
        "experts-have-room",
        "The framework gives experts' rows rooms of a fixed size, and pages where its kernels mark what they keep.",
        experts_have_room),
    of_state("gather-needs-shards", "Overlapped gathers of parameters need a sharded optimizer.", gather_needs_shards),
    of_layout("microbatches-fit-schedule", "The schedule takes as many microbatches as each replica has.",
              microbatches_fit_schedule),
    of_layout("in-flight-is-limited", "A limit of microbatches in flight belongs to the memory-limited schedule.",
              in_flight_is_limited),
};

constexpr auto kRules = [] {
  std::array<Rule, kStatedRules.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kStatedRules[i].rule;
  return out;
}();

}  // namespace

std::span<const Rule> strategy_rules() { return kRules; }

bool reads_state(const Rule& rule) {
  return std::any_of(kStatedRules.begin(), kStatedRules.end(),
                     [&](const StatedRule& stated) { return stated.rule.check == rule.check && stated.reads_state; });
}

bool keeps_rules(const RuleInput& input, bool of_state) {
  return std::all_of(kStatedRules.begin(), kStatedRules.end(), [&](const StatedRule& stated) {
    return stated.reads_state != of_state || !stated.rule.check(input);
  });
}

namespace {

Broken first_broken(const RuleInput& input) {
  for (const Rule& rule : kRules) {
    if (Broken broken = rule.check(input)) return broken;
  }
  return std::nullopt;
}

// Checks the rules on every stage, for the strategy as the stage sees it; a violation of a stage's own size names the
// key in strategy.stages.
Broken first_broken_of_stages(const RuleInput& input) {
  for (int stage = 0; stage < input.strategy.pipeline; ++stage) {
    const Strategy own = input.strategy.at(stage);
    Broken broken = first_broken({input.model, input.training, input.framework, own, input.gpus});
    if (!broken) continue;
    for (const char* key : {"tensor", "data", "expert", "layer_split"}) {
      if (broken->key != fmt::format("strategy.{}", key)) continue;
      const bool layers = broken->key == "strategy.layer_split";
      broken->key = layers ? "strategy.stages" : fmt::format("strategy.stages[{}]", stage);
      if (!layers) broken->message = fmt::format("stage {}: {}", stage, broken->message);
      break;
    }
    return broken;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Violation> first_violation(const RuleInput& input) {
  if (input.strategy.stages.empty()) return first_broken(input);
  if (Broken broken = stages_are_shaped(input)) return broken;
  return first_broken_of_stages(input);
}

bool scatters_transfers(const Strategy& s, const Framework& framework) {
  if (s.sequence_parallel || s.tensor == 1) return false;
  if (s.scatter_gather == ScatterGather::framework) return framework.communication.scatter_gather_pipeline;
  return s.scatter_gather == ScatterGather::on;
}

}  // namespace mirfak
