#pragma once

#include "strategy/rules.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mirfak {

// What a rule expression can name: the fields of a strategy (kStrategyFields), whose lists it cannot, and then what
// follows from them and from the job.
enum class RuleField : std::uint8_t {};

inline constexpr std::size_t kStrategyRuleFields = std::apply(
    [](const auto&... fields) {
      return (std::size_t{0} + ... + (kIsList<typename std::remove_cvref_t<decltype(fields)>::Type> ? 0 : 1));
    },
    kStrategyFields);
inline constexpr std::array<std::string_view, 17> kDerivedRuleFields = {"gpus",
                                                                        "gpus_per_node",
                                                                        "microbatches",
                                                                        "replicas",
                                                                        "first_stage_layers",
                                                                        "last_stage_layers",
                                                                        "most_stage_layers",
                                                                        "layers",
                                                                        "hidden",
                                                                        "heads",
                                                                        "kv_heads",
                                                                        "head_dim",
                                                                        "ffn",
                                                                        "vocab",
                                                                        "experts",
                                                                        "global_batch",
                                                                        "sequence_length"};
inline constexpr std::size_t kRuleFields = kStrategyRuleFields + kDerivedRuleFields.size();
using RuleFieldSet = std::bitset<kRuleFields>;

constexpr std::optional<std::size_t> place_of_rule_field(std::string_view name) {
  std::optional<std::size_t> found;
  std::size_t at = 0;
  for_each_strategy_field([&](const auto& of) {
    if (at < kStrategyRuleFields && of.key == name) found = at;
    ++at;
  });
  for (std::size_t i = 0; i < kDerivedRuleFields.size(); ++i) {
    if (kDerivedRuleFields[i] == name) found = kStrategyRuleFields + i;
  }
  return found;
}

// The field of that name; a name that none has does not compile.
consteval RuleField rule_field(std::string_view name) {
  return static_cast<RuleField>(place_of_rule_field(name).value());
}

enum class RuleType : std::uint8_t {
  number,
  truth,
  choice,   // the place of a value among the names of an enumeration
  modules,  // a ModuleSet as the bits of a whole number
};

// The values of all fields: whole numbers below 2^53 but for shares.
class RuleFields {
 public:
  double& operator[](RuleField field) { return values_[static_cast<std::size_t>(field)]; }
  double operator[](RuleField field) const { return values_[static_cast<std::size_t>(field)]; }
  std::span<const double> values() const { return values_; }

 private:
  std::array<double, kRuleFields> values_{};
};

// A field: its name, what its values are, and which fields of a strategy decide it.
struct RuleFieldInfo {
  std::string_view name;
  std::string_view sentence;
  RuleType type;
  const std::vector<std::string>& (*names)();  // RuleType::choice, modules: of the values; else nullptr
  // The fields of the strategy, and `gpus`, that have to be known for it: itself, and those that stand in where the
  // strategy leaves it out. None: known with the job. A layer_split counts as known with virtual_pipeline.
  RuleFieldSet sources;
  bool whole = true;  // RuleType::number: without a fraction
};
std::span<const RuleFieldInfo> rule_fields();
const RuleFieldInfo& info_of(RuleField field);

// The fields of a strategy. Values are those that hold, not 0 for what is left out: microbatch_group is then
// `pipeline`, zero_group all replicas, recompute_layers those of the longest chunk (0 with recompute: none). What
// follows from divisions (microbatches, layers of stages) means something for strategies that divide only
// (strategy/rules.hpp).
RuleFields read_rule_fields(const RuleInput& input, int gpus_per_node);

}  // namespace mirfak
