#include "strategy/expert_room_rules.hpp"

#include "schedule/schedule.hpp"
#include "strategy/precision_recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace mirfak {

namespace {

using Refusal = std::optional<Violation>;

constexpr const char* kRankCapacity = "strategy.expert_rank_capacity";
constexpr const char* kStash = "strategy.expert_stash";
constexpr const char* kHostStash = "strategy.expert_stash_host";

// Something that does not go together with a key.
struct RoomConflict {
  bool given;
  const char* what;
  const char* hint;
};

Refusal first_conflict(const char* key, std::span<const RoomConflict> others) {
  const auto found = std::find_if(others.begin(), others.end(), [](const RoomConflict& of) { return of.given; });
  if (found == others.end()) return std::nullopt;
  return Violation{key, fmt::format("it does not go together with {}", found->what), found->hint};
}

// Returns the most rows that can come to a rank, over those of evenly chosen experts: all tokens of the ranks that
// exchange rows choose as many of its experts as they may.
double most_rows(const RuleInput& in) {
  const auto per_token = static_cast<double>(in.model.mixture.per_token);
  const double on_rank = static_cast<double>(in.model.mixture.experts) / in.strategy.expert;
  return in.strategy.expert * std::min(per_token, on_rank) / per_token;
}

// Checks the room itself. The program multiplies a rank's tokens by the experts of a token (token_dispatcher.py,
// setup_metadata), which is what comes to ranks that hold whole experts.
Refusal rows_have_room(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (!in.framework.parallelism.expert_rank_capacity) {
    return Violation{kRankCapacity, fmt::format("{} does not have it", in.framework.name),
                     "leave it out, or choose a training.framework whose file says parallelism: expert_rank_capacity"};
  }
  if (in.model.mixture.experts == 0) return Violation{kRankCapacity, "the model has no experts", "leave it out"};
  if (s.expert == 1) {
    return Violation{kRankCapacity, "every rank holds all experts, so as many rows come to each", "leave it out"};
  }
  if (s.expert_dispatcher != ExpertDispatcher::hybrid_ep) {
    return Violation{kRankCapacity, "only kernels that sort and pad rows as they arrive have rooms of a fixed size",
                     "set strategy.expert_dispatcher: hybridep, or leave it out"};
  }
  const RoomConflict others[] = {
      {in.training.expert_capacity_factor > 0, "training.expert_capacity_factor, which drops rows expert by expert",
       "leave one of them out"},
      {s.tensor_of_experts() > 1,
       "experts that tensor ranks divide: the program counts the room by tokens of one rank, and rows of all come",
       "set strategy.expert_tensor: 1"},
      {!s.stages.empty(), "stages of their own shape", "leave strategy.stages out"},
  };
  if (Refusal broken = first_conflict(kRankCapacity, others)) return broken;
  if (s.expert_rank_capacity <= most_rows(in)) return std::nullopt;
  return Violation{kRankCapacity,
                   fmt::format("no rank gets more than {:.4g} times the rows of evenly chosen experts", most_rows(in)),
                   fmt::format("choose at most {:.4g}", most_rows(in))};
}

Refusal rows_wait_in_pages(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (!fuses_experts(in.training, in.framework)) {
    return Violation{kStash,
                     fmt::format("{} marks rows that may wait in pages in its joined kernels of experts alone, which "
                                 "compute in scaled blocks",
                                 in.framework.name),
                     "set training.precision: mxfp8 or nvfp4, or leave it out"};
  }
  const Schedule& schedule = schedule_of(s.schedule);
  const auto on_host = [&](OffloadModule module) { return s.offload_modules.test(static_cast<std::size_t>(module)); };
  const bool recomputes_experts =
      s.recompute == Recompute::selective && s.recompute_modules.test(static_cast<std::size_t>(Module::experts));
  const RoomConflict others[] = {
      {s.offload_layers > 0, "layers whose activations wait on the host", "leave strategy.offload_layers out"},
      {on_host(OffloadModule::expert_inputs) || on_host(OffloadModule::expert_activation),
       "modules of experts on the host, which would keep the same rows", "leave expert_fc1 and moe_act out"},
      {s.recompute == Recompute::full || recomputes_experts, "experts that are computed again, which keep no rows",
       "leave one of them out"},
      {schedule.splits || schedule.pairs || s.overlap_expert || s.nanobatches > 1,
       "passes that are split, or run beside each other: no source says what copies of pages run beside there",
       "choose 1f1b or interleaved-1f1b"},
      {in.training.preferences.runs_forward_only(), "passes that only go forward, whose pages no source describes",
       "leave it out"},
  };
  if (Refusal broken = first_conflict(kStash, others)) return broken;
  if (s.expert_stash + s.expert_stash_host >= 1) return std::nullopt;
  return Violation{kStash, "pages for fewer rows than those of evenly chosen experts are always too few",
                   "pages on the device and on the host have to hold 1 or more together"};
}

}  // namespace

bool fuses_experts(const TrainingSpec& training, const Framework& framework) {
  const PrecisionRecipe* const recipe = find_precision_recipe(training.precision);
  const bool in_blocks = recipe != nullptr && (recipe->scaling == Scaling::micro || recipe->scaling == Scaling::nested);
  return framework.parallelism.expert_stash && in_blocks;
}

Refusal experts_have_room(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.expert_stash == 0 && s.expert_stash_host > 0) {
    return Violation{kHostStash, "pages on the host hold what pages on the device have no room for",
                     "state strategy.expert_stash, or leave it out"};
  }
  if (s.expert_rank_capacity == 0) {
    if (s.expert_stash == 0) return std::nullopt;
    return Violation{kStash, "experts keep as many rows as come, which need no pages",
                     "state strategy.expert_rank_capacity, or leave it out"};
  }
  if (Refusal broken = rows_have_room(in)) return broken;
  return s.expert_stash > 0 ? rows_wait_in_pages(in) : std::nullopt;
}

}  // namespace mirfak
