#include "strategy/preference_rules.hpp"

#include "strategy/zero_stage.hpp"

#include <fmt/format.h>

#include <string>

namespace mirfak {

namespace {

Violation unknown_passes(const char* key, const std::string& what, const char* hint) {
  return {key, "training.preferences has passes without gradients, and mirfak knows none " + what, hint};
}

}  // namespace

std::optional<Violation> forward_passes_are_whole(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (in.training.preferences.any() && s.context_tokens > 0) {
    return Violation{"strategy.context_tokens", "documents that ranks divide are not answers that are compared",
                     "leave it out, or training.preferences"};
  }
  if (!in.training.preferences.runs_forward_only()) return std::nullopt;
  if (s.pipeline > 1) {
    return unknown_passes("strategy.pipeline", fmt::format("through {} pipeline stages", s.pipeline),
                          "set strategy.pipeline: 1, or leave the reference out");
  }
  if (s.virtual_pipeline > 1) {
    return unknown_passes("strategy.virtual_pipeline", "through several chunks", "set strategy.virtual_pipeline: 1");
  }
  if (s.nanobatches > 1) {
    return unknown_passes("strategy.nanobatches", "in parts of a microbatch", "leave nanobatches out");
  }
  if (in.model.prediction_layers > 0) {
    return unknown_passes("training.preferences", "of a model that predicts several tokens",
                          "leave the reference out, or give a model without prediction modules");
  }
  return std::nullopt;
}

std::optional<Violation> copies_are_gathered(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (in.training.preferences.runs_forward_only() && (s.weight_shards > 0 || s.expert_weight_shards > 0)) {
    return unknown_passes(s.weight_shards > 0 ? "strategy.weight_shards" : "strategy.expert_weight_shards",
                          "of weights that replicas divide", "leave it out");
  }
  const ZeroStage zero = zero_stage(in.framework, in.strategy.zero);
  const bool stays = zero.parameters && !zero.until_backward;
  if (in.training.preferences.reference != Reference::model || !stays) return std::nullopt;
  return unknown_passes("strategy.zero",
                        fmt::format("of a copy whose parameters stay whole until a backward pass (ZeRO {} of {})",
                                    in.strategy.zero, in.framework.name),
                        "set strategy.zero: 3");
}

}  // namespace mirfak
