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

// What a rule expression can name: the fields of a strategy (strategy/strategy_fields.hpp), whose lists it cannot, and
// then what follows from them and from the job.
enum class RuleField : std::uint8_t {};

inline constexpr std::size_t kStrategyRuleFields = 29;
inline constexpr std::size_t kDerivedRuleFields = 17;
inline constexpr std::size_t kRuleFields = kStrategyRuleFields + kDerivedRuleFields;
using RuleFieldSet = std::bitset<kRuleFields>;

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
