#pragma once

#include "strategy/strategy.hpp"
#include "strategy/strategy_field.hpp"

#include <span>
#include <string>
#include <string_view>

namespace mirfak {

// The fields of a strategy (strategy/strategy_fields.hpp) for code that prints them one by one.
struct StrategyKey {
  std::string_view key;
  std::string_view sentence;
  std::string default_text;  // "1", "none", "what is left of the GPUs"
  // The value that holds, as scenarios write it: of a zero_group that is left out, all replicas.
  std::string (*text)(const Strategy&);
  bool (*left_out)(const Strategy&);         // it has a default that is no value of the key
  bool (*means_something)(const Strategy&);  // else written scenarios need not have it
  ChosenBySearch chosen;
};
std::span<const StrategyKey> strategy_keys();

}  // namespace mirfak
