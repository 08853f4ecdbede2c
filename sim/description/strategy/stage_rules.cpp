#include "strategy/stage_rules.hpp"

#include "schedule/schedule.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

using Broken = std::optional<Violation>;

// A feature that excludes stages of their own shape: `there` if the strategy uses it.
struct Unshaped {
  const char* key;
  bool there;
  const char* message;
  const char* hint;
};
Broken unshaped(const RuleInput& in) {
  const Strategy& s = in.strategy;
  const Schedule& schedule = schedule_of(s.schedule);
  const int words = in.model.tower_layers > 0 && s.layer_split.size() == s.stages.size() ? words_part(s, in.model) : 0;
  const bool shared = in.model.tied_embeddings || (in.model.tower_layers > 0 && in.model.ties_words);
  const bool tied = shared && s.pipeline > 1 && s.shape_of(words) != s.shape_of(s.pipeline - 1);
  for (const Unshaped& of : {
           Unshaped{"strategy.context", s.context > 1, "stages of their own shape have no context ranks",
                    "leave strategy.context out"},
           Unshaped{"strategy.schedule", schedule.chunks > 1 || !schedule.looped,
                    "stages of their own shape run one chunk each", "choose 1f1b, gpipe, zb-h1 or zb-h2"},
           Unshaped{"strategy.virtual_pipeline", s.virtual_pipeline > 1, "stages of their own shape run one chunk each",
                    "leave it out"},
           Unshaped{"strategy.zero", s.zero > 2, "stages of their own shape keep their parameters whole",
                    "choose strategy.zero: 0, 1 or 2"},
           Unshaped{"strategy.zero_group", s.zero_group > 0,
                    "the sharding groups of stages of their own shape are all replicas of a stage", "leave it out"},
           Unshaped{"strategy.replica_microbatches", !s.replica_microbatches.empty(),
                    "replicas of stages of their own shape run equally many microbatches", "leave it out"},
           Unshaped{
               "strategy.stages", tied,
               "the word embedding is the output projection too, and the stages of the two differ in shape: they could "
               "not sum its gradients rank by rank",
               "give both the same tensor and data sizes"},
       }) {
    if (of.there) return Violation{of.key, of.message, of.hint};
  }
  return std::nullopt;
}

bool one_divides(int a, int b) { return std::max(a, b) % std::min(a, b) == 0; }

Broken neighbours_divide(const Strategy& s, int stage) {
  const StageShape a = s.shape_of(stage);
  const StageShape b = s.shape_of(stage + 1);
  for (const auto& [name, one, other] :
       {std::tuple("tensor", a.tensor, b.tensor), std::tuple("data", a.data, b.data)}) {
    if (one_divides(one, other)) continue;
    return Violation{fmt::format("strategy.stages[{}]", stage + 1),
                     fmt::format("{} {} next to {} {} of stage {}: ranks could not send each other equal pieces", name,
                                 other, name, one, stage),
                     "one of the two sizes must divide the other"};
  }
  return std::nullopt;
}

}  // namespace

void set_stages(Strategy& strategy, std::vector<StageShape> stages) {
  const auto widest = std::max_element(stages.begin(), stages.end(),
                                       [](const StageShape& a, const StageShape& b) { return a.data < b.data; });
  strategy.tensor = widest->tensor;
  strategy.data = widest->data;
  strategy.expert = widest->expert;
  strategy.pipeline = static_cast<int>(stages.size());
  strategy.stages = std::move(stages);
}

bool divide(const StageShape& a, const StageShape& b) {
  return one_divides(a.tensor, b.tensor) && one_divides(a.data, b.data);
}

std::optional<Violation> stages_are_shaped(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.stages.empty()) return std::nullopt;
  if (static_cast<int>(s.stages.size()) != s.pipeline) {
    return Violation{"strategy.stages",
                     fmt::format("{} entries, but strategy.pipeline is {}", s.stages.size(), s.pipeline),
                     "leave strategy.pipeline out"};
  }
  if (Broken broken = unshaped(in)) return broken;
  if (s.ranks() != in.gpus) {
    return Violation{"strategy.stages",
                     fmt::format("the stages take {} GPUs, but the cluster has {}", s.ranks(), in.gpus),
                     "choose nodes, gpus or sizes of the stages that make up the cluster"};
  }
  const std::int64_t sequences = std::int64_t{s.micro_batch} * s.data;
  for (int stage = 0; stage < s.pipeline; ++stage) {
    if (sequences % s.shape_of(stage).data != 0) {
      return Violation{fmt::format("strategy.stages[{}]", stage),
                       fmt::format("a microbatch of {} sequences (micro_batch {} x data {} of the stage with most "
                                   "replicas) cannot be divided among {} replicas",
                                   sequences, s.micro_batch, s.data, s.shape_of(stage).data),
                       "choose a divisor, or another strategy.micro_batch"};
    }
    if (stage + 1 == s.pipeline) break;
    if (Broken broken = neighbours_divide(s, stage)) return broken;
  }
  return std::nullopt;
}

}  // namespace mirfak
