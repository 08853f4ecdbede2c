#include "strategy/sharding_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace mirfak {

using Broken = std::optional<Violation>;

std::string divisors(std::int64_t of, std::int64_t limit) {
  std::string out;
  for (std::int64_t d = 1; d <= std::min(of, limit); ++d) {
    if (of % d == 0) out += fmt::format("{}{}", out.empty() ? "" : ", ", d);
  }
  return out;
}

Broken framework_shards(const RuleInput& in) {
  const ShardingHabits& habits = in.framework.sharding;
  const bool stages = in.strategy.pipeline > 1;
  const int highest = stages ? std::min(habits.max_zero, habits.max_zero_with_pipeline) : habits.max_zero;
  if (in.strategy.zero == 1 && habits.stage2_gathers_parameters) {
    return Violation{
        "strategy.zero",
        fmt::format("{} shards parameters and gradients with the optimizer's state (FSDP): it has no ZeRO 1",
                    in.framework.name),
        highest >= 2 ? "choose 0, 2 or 3" : "choose 0"};
  }
  if (in.strategy.zero <= highest) return std::nullopt;
  return Violation{"strategy.zero",
                   fmt::format("{} has ZeRO up to stage {}{}, not {}", in.framework.name, highest,
                               stages ? " with pipeline stages" : "", in.strategy.zero),
                   "choose a lower stage or another training.framework"};
}

namespace {

// Each sharding group holds all state, including that of the experts, so it must consist of whole sets of
// expert-parallel ranks (megatron/core/parallel_state.py; torchtitan's dp_replicate_degree).
Broken groups_share_experts(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (in.model.mixture.experts == 0) return std::nullopt;
  const std::int64_t groups = s.replicas() / s.zero_group;
  const std::int64_t of_experts = s.expert_replicas();
  if (of_experts % groups == 0) return std::nullopt;
  return Violation{
      "strategy.zero_group",
      fmt::format("{} groups of {} ranks each hold all experts, of which there {} {} replica{} only", groups,
                  s.zero_group, of_experts == 1 ? "is" : "are", of_experts, of_experts == 1 ? "" : "s"),
      "choose larger groups, or a smaller strategy.expert"};
}

}  // namespace

Broken zero_group_divides(const RuleInput& in) {
  const int group = in.strategy.zero_group;
  if (group == 0) return std::nullopt;
  if (in.strategy.zero == 0) {
    return Violation{"strategy.zero_group", "a sharding group without ZeRO", "set strategy.zero or leave it out"};
  }
  const bool parts = group < in.strategy.replicas();
  if (parts && in.strategy.zero < in.framework.sharding.groups_from_zero) {
    return Violation{"strategy.zero_group",
                     fmt::format("{} shards in groups from ZeRO {} on, not with ZeRO {}", in.framework.name,
                                 in.framework.sharding.groups_from_zero, in.strategy.zero),
                     "leave it out, or raise strategy.zero"};
  }
  if (in.strategy.replicas() % group == 0) return groups_share_experts(in);
  return Violation{
      "strategy.zero_group",
      fmt::format("{} data-parallel ranks cannot be divided into groups of {}", in.strategy.replicas(), group),
      fmt::format("possible sizes: {}", divisors(in.strategy.replicas(), in.strategy.replicas()))};
}

namespace {

// Checks conditions that all parts of ZeRO++ have in common.
Broken exchanges_shards(const RuleInput& in, std::string_view key, bool implemented) {
  const Strategy& s = in.strategy;
  const std::string name = fmt::format("strategy.{}", key);
  if (!implemented) {
    return Violation{name, fmt::format("{} does not have it", in.framework.name),
                     "leave it out, or choose another training.framework"};
  }
  if (s.zero != 3) {
    return Violation{name, fmt::format("it changes how shards of parameters are used, and ZeRO {} has none", s.zero),
                     "set strategy.zero: 3 or leave it out"};
  }
  if (s.shards() != s.replicas()) {
    return Violation{name, fmt::format("the parameters are sharded in groups of {} already", s.shards()),
                     "leave strategy.zero_group out, or leave it out"};
  }
  if (s.expert > 1) {
    return Violation{name, "no program has it with experts that are divided over replicas", "set strategy.expert: 1"};
  }
  return std::nullopt;
}

}  // namespace

Broken second_copy_divides(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.zero_second_group == 0) return std::nullopt;
  const char* const key = "zero_second_group";
  if (Broken broken = exchanges_shards(in, key, in.framework.sharding.second_copies)) return broken;
  if (s.offload_parameters) {
    return Violation{fmt::format("strategy.{}", key), "no prediction has a second copy of parameters on the host",
                     "leave it out, or strategy.offload_parameters"};
  }
  if (s.replicas() % s.zero_second_group == 0) return std::nullopt;
  return Violation{
      fmt::format("strategy.{}", key),
      fmt::format("{} data-parallel ranks cannot be divided into groups of {}", s.replicas(), s.zero_second_group),
      fmt::format("possible sizes: {}", divisors(s.replicas(), s.replicas()))};
}

Broken exchanges_are_quantized(const RuleInput& in) {
  const Strategy& s = in.strategy;
  const ShardingHabits& habits = in.framework.sharding;
  if (s.quantized_gathers) {
    if (Broken broken = exchanges_shards(in, "quantized_gathers", habits.gather_scale_values > 0)) return broken;
    if (in.training.adapters.base != FrozenBase::as_trained || in.training.fp8_parameters) {
      return Violation{"strategy.quantized_gathers", "the parameters are kept in a narrow format already",
                       "leave it out, or keep parameters in 16 bits"};
    }
  }
  if (!s.quantized_reductions) return std::nullopt;
  return exchanges_shards(in, "quantized_reductions", habits.quantized_reductions);
}

// Checks that buffers can be registered. Megatron Core refuses growing segments (__post_init__ of
// DistributedDataParallelConfig), and states figures of gathers and reduce-scatters alone.
Broken buffers_are_registered(const RuleInput& in) {
  if (!in.strategy.registered_buffers) return std::nullopt;
  constexpr const char* key = "strategy.registered_buffers";
  if (!in.framework.sharding.registered_buffers) {
    return Violation{key, fmt::format("{} does not have it", in.framework.name),
                     "leave it out, or choose another training.framework"};
  }
  if (in.framework.memory.expandable_segments && !in.framework.sharding.registered_apart) {
    return Violation{key,
                     fmt::format("{} allocates memory in segments that grow, and such memory cannot be registered",
                                 in.framework.name),
                     "leave it out, or set memory: {expandable_segments: false} of training.framework"};
  }
  if (in.strategy.zero > 0) return std::nullopt;
  return Violation{key, "replicas without ZeRO all-reduce gradients, and no figure is known for that",
                   "set strategy.zero, or leave it out"};
}

Broken gather_needs_shards(const RuleInput& in) {
  if (!in.strategy.overlap_param_gather || in.strategy.zero == 1 || in.strategy.zero == 2) return std::nullopt;
  return Violation{"strategy.overlap_param_gather",
                   fmt::format("ZeRO {} has no gather of parameters after the optimizer step", in.strategy.zero),
                   "it goes with strategy.zero: 1 or 2"};
}

}  // namespace mirfak
