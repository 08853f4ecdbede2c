#pragma once

#include "strategy/rules.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Field that a rule expression can name. The fields of a strategy come first (strategy/strategy_fields.hpp; rules
// cannot name the fields that are lists), then the fields derived from them and from the job.
enum class RuleField : std::uint8_t {};

inline constexpr std::size_t kStrategyRuleFields = 29;
inline constexpr std::size_t kDerivedRuleFields = 17;
inline constexpr std::size_t kRuleFields = kStrategyRuleFields + kDerivedRuleFields;
using RuleFieldSet = std::bitset<kRuleFields>;

enum class RuleType : std::uint8_t {
  number,
  truth,
  choice,   // index of a value among the names of an enumeration
  modules,  // a ModuleSet as the bits of a whole number
};

// Values of all fields: whole numbers below 2^53, except shares.
class RuleFields {
 public:
  double& operator[](RuleField field) { return values_[static_cast<std::size_t>(field)]; }
  double operator[](RuleField field) const { return values_[static_cast<std::size_t>(field)]; }
  std::span<const double> values() const { return values_; }

 private:
  std::array<double, kRuleFields> values_{};
};

// Field: its name, the type of its values, and the strategy fields that decide it.
struct RuleFieldInfo {
  std::string_view name;
  std::string_view sentence;
  RuleType type;
  const std::vector<std::string>& (*names)();  // RuleType::choice and modules: names of the values; else nullptr
  // Fields of the strategy, and `gpus`, that must be known for this field: the field itself, and the fields that decide
  // its value if the strategy leaves it out. Empty: known with the job. A layer_split counts as known with
  // virtual_pipeline.
  RuleFieldSet sources;
  bool whole = true;  // RuleType::number: has no fraction
};
std::span<const RuleFieldInfo> rule_fields();
const RuleFieldInfo& info_of(RuleField field);

// Returns the field values of a strategy. A field that the strategy leaves out has its effective value, not 0:
// microbatch_group is `pipeline`, zero_group all replicas, recompute_layers the layers of the longest chunk (0 if
// recompute is none). Fields that result from divisions (microbatches, layers of stages) are meaningful only for
// strategies whose sizes divide (strategy/rules.hpp).
RuleFields read_rule_fields(const RuleInput& input, int gpus_per_node);

}  // namespace mirfak
