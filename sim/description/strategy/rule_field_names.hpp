#pragma once

#include "strategy/rule_fields.hpp"
#include "strategy/strategy_fields.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace mirfak {

// Names of the fields that are derived from the fields of a strategy and from the job, in their order.
inline constexpr std::array<std::string_view, kDerivedRuleFields> kDerivedRuleFieldNames = {
    {"gpus", "gpus_per_node", "microbatches", "replicas", "first_stage_layers", "last_stage_layers",
     "most_stage_layers", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "experts",
     "global_batch", "sequence_length"}};

constexpr std::optional<std::size_t> place_of_rule_field(std::string_view name) {
  std::optional<std::size_t> found;
  std::size_t at = 0;
  for_each_strategy_field([&](const auto& of) {
    if (at < kStrategyRuleFields && of.key == name) found = at;
    ++at;
  });
  for (std::size_t i = 0; i < kDerivedRuleFieldNames.size(); ++i) {
    if (kDerivedRuleFieldNames[i] == name) found = kStrategyRuleFields + i;
  }
  return found;
}

// Returns the field with this name. An unknown name does not compile.
consteval RuleField rule_field(std::string_view name) {
  return static_cast<RuleField>(place_of_rule_field(name).value());
}

}  // namespace mirfak
