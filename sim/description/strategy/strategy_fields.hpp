#pragma once

#include "strategy/strategy.hpp"
#include "strategy/strategy_field.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace mirfak {

inline constexpr ChosenBySearch kChunksChosen = {
    "a search chooses the layers of each chunk itself",
    "leave it out; search.space.uneven_layers and uneven_end_chunks bound how uneven they are"};

inline constexpr ChosenBySearch kWeightsWhole = {"a search compares strategies whose tensor ranks keep their weights",
                                                 "leave it out, and simulate it with the strategies that are found"};

inline constexpr ChosenBySearch kRowsAsTheyCome = {
    "a search compares strategies whose experts have room for the rows that come",
    "leave it out, and simulate it with the strategies that are found"};

// Table of all fields, in the order in which scenarios are written. Lists come last because rules cannot name them. A
// new field needs a member of Strategy, an entry here, and the code that gives the field its meaning.
inline constexpr std::tuple kStrategyFields = {
    field("tensor", &Strategy::tensor, "tensor-parallel size").between(1, strategy_limits::kRanks),
    field("context", &Strategy::context, "context-parallel size").between(1, strategy_limits::kRanks),
    field("context_communication", &Strategy::context_communication,
          "how context-parallel ranks get at keys and values")
        .among(context_communication_names),
    field("context_heads", &Strategy::context_heads, "context ranks that divide heads inside attention, in groups")
        .between(1, strategy_limits::kRanks)
        .only_if([](const Strategy& s) { return s.context_heads > 1; }),
    field("context_tokens", &Strategy::context_tokens, "tokens of a document that a rank holds at most")
        .between(1, strategy_limits::kBatch)
        .or_none()
        .only_if([](const Strategy& s) { return s.context_tokens > 0; })
        .not_in_blocks()
        .chosen_by_search({"a search compares strategies whose context ranks are the same for all documents",
                           "leave it out, and simulate it with the strategies that are found"}),
    field("expert", &Strategy::expert, "expert-parallel size").between(1, strategy_limits::kRanks),
    field("expert_tensor", &Strategy::expert_tensor, "ranks that divide each expert")
        .between(1, strategy_limits::kRanks)
        .completed("tensor", [](const Strategy& s, int /*gpus*/) { return s.tensor; })
        .only_if([](const Strategy& s) { return s.stages.empty() || s.expert_tensor > 0; })
        .holding([](const Strategy& s) -> double { return s.tensor_of_experts(); }, "tensor"),
    field("expert_dispatcher", &Strategy::expert_dispatcher, "how rows of tokens get to their experts")
        .among(expert_dispatcher_names),
    field("overlap_expert", &Strategy::overlap_expert, "rows are exchanged during the passes of other microbatches"),
    field("expert_rank_capacity", &Strategy::expert_rank_capacity,
          "rows that a rank's experts have room for, over those of evenly chosen experts")
        .between(1, strategy_limits::kRanks)
        .or_none()
        .only_if([](const Strategy& s) { return s.expert_rank_capacity > 0; })
        .chosen_by_search(kRowsAsTheyCome),
    field("expert_stash", &Strategy::expert_stash,
          "pages for the rows that experts keep, over those of evenly chosen experts")
        .between(0, strategy_limits::kRanks)
        .only_if([](const Strategy& s) { return s.expert_stash > 0; })
        .chosen_by_search(kRowsAsTheyCome),
    field("expert_stash_host", &Strategy::expert_stash_host, "likewise pages on the host, for what does not fit")
        .between(0, strategy_limits::kRanks)
        .only_if([](const Strategy& s) { return s.expert_stash_host > 0; })
        .chosen_by_search(kRowsAsTheyCome),
    field("pipeline", &Strategy::pipeline, "pipeline stages").between(1, strategy_limits::kRanks).not_in_blocks(),
    field("virtual_pipeline", &Strategy::virtual_pipeline, "chunks of each stage")
        .between(1, strategy_limits::kLayers)
        .completed("1, or what the schedule says",
                   [](const Strategy& s, int /*gpus*/) { return chunks_of_schedule(s.schedule); })
        .not_in_blocks(),
    field("data", &Strategy::data, "data-parallel replicas")
        .between(1, strategy_limits::kRanks)
        .completed("what is left of the GPUs",
                   [](const Strategy& s, int gpus) {
                     return static_cast<int>(std::max<std::int64_t>(1, gpus / (std::int64_t{s.team()} * s.pipeline)));
                   }),
    field("micro_batch", &Strategy::micro_batch, "sequences of a microbatch").between(1, 1 << 20),
    field("microbatch_group", &Strategy::microbatch_group, "interleaving: microbatches of one chunk before the next")
        .between(1, strategy_limits::kBatch)
        .or_else("pipeline")
        .holding([](const Strategy& s) -> double { return s.microbatch_group > 0 ? s.microbatch_group : s.pipeline; },
                 "pipeline")
        .not_in_blocks(),
    field("schedule", &Strategy::schedule, "the order of passes")
        .among(schedule_names)
        .completed("1f1b; with chunks interleaved-1f1b, with overlap_expert combined-1f1b",
                   [](const Strategy& s, int /*gpus*/) {
                     if (s.virtual_pipeline <= 1) return kDefaultSchedule;
                     return schedule_of_chunks(s.overlap_expert && s.expert > 1);
                   })
        .not_in_blocks(),
    field("max_in_flight", &Strategy::max_in_flight, "microbatches whose activations a stage keeps at most")
        .between(1, strategy_limits::kBatch)
        .or_else("pipeline")
        .holding([](const Strategy& s) -> double { return s.max_in_flight > 0 ? s.max_in_flight : s.pipeline; },
                 "pipeline")
        .not_in_blocks(),
    field("account_for_embedding_in_pipeline_split", &Strategy::account_for_embedding_in_pipeline_split,
          "an even split counts the embedding as a layer of the first chunk")
        .only_if([](const Strategy& s) { return s.account_for_embedding_in_pipeline_split; })
        .not_in_blocks()
        .chosen_by_search(kChunksChosen),
    field("account_for_loss_in_pipeline_split", &Strategy::account_for_loss_in_pipeline_split,
          "an even split counts the head and the loss as a layer of the last chunk")
        .only_if([](const Strategy& s) { return s.account_for_loss_in_pipeline_split; })
        .not_in_blocks()
        .chosen_by_search(kChunksChosen),
    field("sequence_parallel", &Strategy::sequence_parallel, "tokens are divided over tensor ranks"),
    field("scatter_gather", &Strategy::scatter_gather, "tensor ranks send shares between stages, which are gathered")
        .among(scatter_gather_names)
        .only_if([](const Strategy& s) { return s.scatter_gather != ScatterGather::framework; })
        .not_in_blocks(),
    field("rank_order", &Strategy::rank_order, "how ranks are numbered, neighbours first")
        .among(rank_order_names)
        .only_if([](const Strategy& s) { return s.rank_order != RankOrder::pipeline_last; })
        .not_in_blocks(),
    field("recompute", &Strategy::recompute, "what backward passes compute again").among(recompute_names),
    field("recompute_modules", &Strategy::recompute_modules, "modules that selective recomputation drops")
        .among(module_names)
        .holding(
            [](const Strategy& s) {
              return s.recompute == Recompute::selective ? static_cast<double>(s.recompute_modules.to_ulong()) : 0;
            },
            "recompute")
        .only_if([](const Strategy& s) { return s.recompute == Recompute::selective; }),
    field("recompute_method", &Strategy::recompute_method, "which layers of a chunk are recomputed")
        .among(recompute_method_names)
        .only_if([](const Strategy& s) { return s.recompute_method != RecomputeMethod::block; })
        .not_in_blocks(),
    field("recompute_layers", &Strategy::recompute_layers, "layers of a chunk, or of a group, that are recomputed")
        .between(1, strategy_limits::kLayers)
        .or_else("all"),
    field("offload_layers", &Strategy::offload_layers, "layers whose activations wait in the host's memory")
        .between(1, strategy_limits::kLayers)
        .or_none()
        .not_in_blocks(),
    field("offload_modules", &Strategy::offload_modules, "modules whose inputs wait in the host's memory")
        .among(offload_module_names)
        .only_if([](const Strategy& s) { return s.offload_modules.any(); }),
    field("offload_optimizer", &Strategy::offload_optimizer, "share of the optimizer that is on the host")
        .between(0, 1)
        .only_if([](const Strategy& s) { return s.offload_optimizer > 0; })
        .not_in_blocks(),
    field("offload_parameters", &Strategy::offload_parameters, "the host keeps the shards of the parameters")
        .only_if([](const Strategy& s) { return s.offload_parameters; })
        .not_in_blocks(),
    field("optimizer_on_disk", &Strategy::optimizer_on_disk, "the optimizer's state of the host lies on its disks")
        .only_if([](const Strategy& s) { return s.optimizer_on_disk; })
        .not_in_blocks(),
    field("parameters_on_disk", &Strategy::parameters_on_disk, "the parameters of the host lie on its disks")
        .only_if([](const Strategy& s) { return s.parameters_on_disk; })
        .not_in_blocks(),
    field("overlap_disk", &Strategy::overlap_disk, "disks are read and written while the host updates")
        .only_if([](const Strategy& s) { return s.overlap_disk; })
        .not_in_blocks(),
    field("zero", &Strategy::zero, "ZeRO stage").between(0, 3).not_in_blocks(),
    field("zero_group", &Strategy::zero_group, "ranks that share one sharded copy")
        .between(1, strategy_limits::kRanks)
        .or_else("data times context")
        .holding([](const Strategy& s) -> double { return s.zero_group > 0 ? s.zero_group : s.replicas(); }, "data",
                 "context")
        .not_in_blocks(),
    field("zero_second_group", &Strategy::zero_second_group, "ranks that share a second sharded copy of the parameters")
        .between(2, strategy_limits::kRanks)
        .or_none()
        .only_if([](const Strategy& s) { return s.zero_second_group > 0; })
        .not_in_blocks(),
    field("quantized_gathers", &Strategy::quantized_gathers, "parameters are gathered in 8 bits")
        .only_if([](const Strategy& s) { return s.quantized_gathers; })
        .not_in_blocks(),
    field("quantized_reductions", &Strategy::quantized_reductions, "gradients are exchanged in 4 bits, node by node")
        .only_if([](const Strategy& s) { return s.quantized_reductions; })
        .not_in_blocks(),
    field("weight_shards", &Strategy::weight_shards,
          "parts of each weight, over tensor ranks and neighbouring replicas")
        .between(1, strategy_limits::kRanks)
        .or_else("tensor")
        .holding([](const Strategy& s) -> double { return s.weight_shards > 0 ? s.weight_shards : s.tensor; }, "tensor")
        .only_if([](const Strategy& s) { return s.weight_shards > 0; })
        .not_in_blocks()
        .chosen_by_search(kWeightsWhole),
    field("expert_weight_shards", &Strategy::expert_weight_shards,
          "parts of each expert's weights, over ranks that divide it and replicas that hold it")
        .between(1, strategy_limits::kRanks)
        .or_else("expert_tensor")
        .holding([](const Strategy& s)
                     -> double { return s.expert_weight_shards > 0 ? s.expert_weight_shards : s.tensor_of_experts(); },
                 "expert_tensor", "tensor")
        .only_if([](const Strategy& s) { return s.expert_weight_shards > 0; })
        .not_in_blocks()
        .chosen_by_search(kWeightsWhole),
    field("overlap_tensor", &Strategy::overlap_tensor, "products run in pieces at the same time as their collectives"),
    field("nanobatches", &Strategy::nanobatches,
          "parts of a microbatch, of which one computes while the other communicates")
        .between(1, 2)
        .only_if([](const Strategy& s) { return s.nanobatches > 1; }),
    field("communication_sms", &Strategy::communication_sms, "most multiprocessors that a collective takes")
        .between(1, strategy_limits::kChannels)
        .or_else("what the library of collectives chooses")
        .only_if([](const Strategy& s) { return s.communication_sms > 0; }),
    field("registered_buffers", &Strategy::registered_buffers, "gathers and reductions need few multiprocessors")
        .only_if([](const Strategy& s) { return s.registered_buffers; })
        .not_in_blocks(),
    field("overlap_grad_reduce", &Strategy::overlap_grad_reduce, "gradients are reduced during backward passes")
        .not_in_blocks(),
    field("overlap_param_gather", &Strategy::overlap_param_gather, "parameters are gathered during forward passes")
        .only_if([](const Strategy& s) { return s.zero == 1 || s.zero == 2; })
        .not_in_blocks(),
    field("layer_split", &Strategy::layer_split, "layers of each chunk")
        .between(0, strategy_limits::kLayers)
        .or_else("even")
        .only_if([](const Strategy& s) { return s.stages.empty(); })
        .not_in_blocks()
        .chosen_by_search(kChunksChosen),
    field("replica_microbatches", &Strategy::replica_microbatches, "microbatches of each data-parallel replica")
        .between(1, strategy_limits::kBatch)
        .or_else("even")
        .not_in_blocks()
        .chosen_by_search({"a search divides the microbatches among replicas itself", "leave it out"}),
    field("stages", &Strategy::stages, "pipeline stages of their own shape")
        .between(1, strategy_limits::kRanks)
        .or_else("all alike")
        .not_in_blocks()
        .chosen_by_search({"a search keeps stages that are stated", "leave it out, or see search.space.stages"}),
};

// Returns the effective value of a field that is not a list, as a number: an enumeration as its index, a set as its
// bits.
template <typename T>
double effective_value(const StrategyField<T>& of, const Strategy& strategy) {
  if (of.effective != nullptr) return of.effective(strategy);
  if constexpr (std::is_same_v<T, ModuleSet>) {
    return static_cast<double>((strategy.*of.member).to_ulong());
  } else {
    return static_cast<double>(strategy.*of.member);
  }
}

// Calls `visit` with every field, in the order of the table.
template <typename Visit>
constexpr void for_each_strategy_field(const Visit& visit) {
  std::apply([&](const auto&... fields) { (visit(fields), ...); }, kStrategyFields);
}

}  // namespace mirfak
