#pragma once

#include "base/values.hpp"
#include "strategy/strategy.hpp"
#include "strategy/strategy_field.hpp"

#include <span>
#include <string>
#include <string_view>

namespace mirfak {

// Field of a strategy (strategy/strategy_fields.hpp), for code that prints fields one by one.
struct StrategyKey {
  std::string_view key;
  std::string_view sentence;
  std::string default_text;  // "1", "none", "what is left of the GPUs"
  // Returns the effective value as scenarios write it; for a zero_group that is left out, all replicas.
  Value (*value)(const Strategy&);
  bool (*left_out)(const Strategy&);         // true if the field has a default that is not a value of the key
  bool (*means_something)(const Strategy&);  // false: written scenarios may leave the field out
  bool own;                                  // true if no other field decides the value or if it is left out
  ChosenBySearch chosen;

  std::string text(const Strategy& strategy) const { return line_of(value(strategy)); }
};
std::span<const StrategyKey> strategy_keys();

}  // namespace mirfak
