#pragma once

#include "formula/condition.hpp"
#include "strategy/rules.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace mirfak {

// Field that a rule expression can name. The fields of a strategy come first (strategy/strategy_fields.hpp; rules
// cannot name the fields that are lists), then the fields derived from them and from the job.
enum class RuleField : std::uint8_t {};

inline constexpr std::size_t kStrategyRuleFields = 48;
inline constexpr std::size_t kDerivedRuleFields = 17;
inline constexpr std::size_t kRuleFields = kStrategyRuleFields + kDerivedRuleFields;
using RuleFieldSet = std::bitset<kRuleFields>;

// Values of all fields: whole numbers below 2^53, except shares.
class RuleFields {
 public:
  double& operator[](RuleField field) { return values_[static_cast<std::size_t>(field)]; }
  double operator[](RuleField field) const { return values_[static_cast<std::size_t>(field)]; }
  std::span<const double> values() const { return values_; }

 private:
  std::array<double, kRuleFields> values_{};
};

// Returns the names of all fields, in the order of RuleField. A choice is an index among the names of an enumeration, a
// set a ModuleSet as the bits of a whole number.
std::span<const formula::Name> rule_fields();

// Reads a rule on strategies. Error(input) at the faulty character of the scalar.
formula::Condition parse_rule(const Node& node);

// Returns the fields of the strategy, and `gpus`, that must be known before a rule can be evaluated: the fields that it
// names, and the fields that decide their values if the strategy leaves them out. What is known with the job is not
// among them. A layer_split counts as known with virtual_pipeline.
RuleFieldSet sources_of(const formula::Condition& rule);

// Returns the field values of a strategy. A field that the strategy leaves out has its effective value, not 0:
// microbatch_group is `pipeline`, zero_group all replicas, recompute_layers the layers of the longest chunk (0 if
// recompute is none). Fields that result from divisions (microbatches, layers of stages) are meaningful only for
// strategies whose sizes divide (strategy/rules.hpp).
RuleFields read_rule_fields(const RuleInput& input, int gpus_per_node);

}  // namespace mirfak
