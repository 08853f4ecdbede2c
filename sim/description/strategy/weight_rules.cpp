#include "strategy/weight_rules.hpp"

#include "schedule/schedule.hpp"
#include "strategy/precision_recipe.hpp"
#include "strategy/sharding_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

using Broken = std::optional<Violation>;

// Weights of one kind: those outside experts, or those of experts.
struct Weights {
  const char* key;
  int shards;              // parts of a weight, 0: not stated
  int divided;             // ranks that divide a weight in any case
  const char* divided_by;  // the key that says so
  int replicas;            // ranks that hold the same part
};

Broken shards_divide(const Weights& of) {
  if (of.shards == 0) return std::nullopt;
  if (of.shards % of.divided != 0) {
    return Violation{of.key,
                     fmt::format("{} ranks divide each weight ({}), of which {} is no multiple", of.divided,
                                 of.divided_by, of.shards),
                     "choose a multiple, or leave it out"};
  }
  const int group = of.shards / of.divided;
  if (of.replicas % group == 0) return std::nullopt;
  return Violation{of.key,
                   fmt::format("{} replicas hold each part of a weight, and cannot be divided into groups of {} ({} / "
                               "{})",
                               of.replicas, group, of.shards, of.divided),
                   fmt::format("choose {} times one of {}", of.divided, divisors(of.replicas, of.replicas))};
}

// Finds what does not go together with divided weights: what the program refuses (megatron/core/parallel_state.py: one
// instance of the distributed optimizer), where its order of ranks is not that of other jobs (context ranks stand
// after the group of a weight), and what no source says.
Broken goes_together(const RuleInput& in, const char* key) {
  const Strategy& s = in.strategy;
  const TrainingSpec& t = in.training;
  const Schedule& schedule = schedule_of(s.schedule);
  const PrecisionRecipe* const recipe = find_precision_recipe(t.precision);
  struct Other {
    bool given;
    const char* what;
    const char* hint;
  };
  const char* const leave = "leave one of them out";
  const Other others[] = {
      {s.zero > 1, "ZeRO 2 and 3, which divide the same weights", "set strategy.zero: 1 or 0"},
      {s.zero_group > 0, "strategy.zero_group: the program has one instance of the distributed optimizer with it",
       "leave strategy.zero_group out"},
      {s.context > 1, "context ranks: the program numbers them otherwise then, and no prediction has that order",
       "set strategy.context: 1"},
      {s.rank_order != RankOrder::pipeline_last, "strategy.rank_order: the ranks of a weight are neighbours",
       "leave strategy.rank_order out"},
      {recipe != nullptr && recipe->narrow() && (recipe->scaling != Scaling::micro || !t.fp8_parameters),
       "linear layers in 8 or 4 bits, except mxfp8 with training.fp8_parameters: the program keeps parts of weights in "
       "MXFP8, NVFP4 or 16 bits, and no prediction has NVFP4",
       "set training.precision: bf16, or mxfp8 and training.fp8_parameters: true"},
      {schedule.splits || schedule.pairs || s.overlap_expert,
       "schedules that split backward passes or pair passes: no source says when gradients leave",
       "choose 1f1b or interleaved-1f1b"},
      {s.nanobatches > 1, "microbatches in parts", "leave strategy.nanobatches out"},
      {!s.stages.empty() || !s.replica_microbatches.empty(), "replicas or stages that differ",
       "leave strategy.stages and strategy.replica_microbatches out"},
      {s.offload_optimizer > 0, "the optimizer on the host", "leave strategy.offload_optimizer out"},
      {t.optimizer == Optimizer::muon, "Muon, whose whole matrices no prediction divides so", leave},
      {t.low_rank_gradients.any(), "training.low_rank_gradients, which need whole matrices", leave},
      {t.adapters.rank > 0 || t.frozen.any(), "weights that are not trained", leave},
      {in.model.image_tokens > 0, "a tower for images", leave},
      {t.local_steps.any(), "learners that step apart", "leave training.local_steps out"},
  };
  const auto found = std::find_if(std::begin(others), std::end(others), [](const Other& of) { return of.given; });
  if (found == std::end(others)) return std::nullopt;
  return Violation{key, fmt::format("it does not go together with {}", found->what), found->hint};
}

}  // namespace

Broken weights_are_divided(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.weight_shards == 0 && s.expert_weight_shards == 0) return std::nullopt;
  const char* const key = s.weight_shards > 0 ? "strategy.weight_shards" : "strategy.expert_weight_shards";
  if (!in.framework.parallelism.weight_shards) {
    return Violation{key, fmt::format("{} does not have it", in.framework.name),
                     "leave it out, or choose another training.framework"};
  }
  if (s.expert_weight_shards > 0 && in.model.mixture.experts == 0) {
    return Violation{"strategy.expert_weight_shards", "the model has no experts", "leave it out"};
  }
  const Weights all[] = {{"strategy.weight_shards", s.weight_shards, s.tensor, "strategy.tensor", s.replicas()},
                         {"strategy.expert_weight_shards", s.expert_weight_shards, s.tensor_of_experts(),
                          "strategy.expert_tensor", s.expert_replicas()}};
  for (const Weights& of : all) {
    if (Broken broken = shards_divide(of)) return broken;
  }
  if (!s.divides_weights()) return std::nullopt;
  const bool apart = in.model.mixture.experts > 0 && s.weight_group() != s.expert_weight_group();
  if (apart && s.expert_replicas() == s.replicas()) {
    return Violation{key,
                     fmt::format("as many ranks hold each expert as any other weight, and no prediction divides them "
                                 "among {} and {} replicas",
                                 s.expert_weight_group(), s.weight_group()),
                     "divide experts over replicas (strategy.expert), or both kinds of weights among as many"};
  }
  return goes_together(in, key);
}

}  // namespace mirfak
