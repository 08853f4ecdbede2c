#pragma once

#include "scenario/scenario.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A key that two scenarios give different values, or that only one has.
struct KeyDifference {
  std::string key;               // "strategy.tensor", "cluster.nodes[0].count"
  std::optional<std::string> a;  // the value as YAML on one line; absent: this scenario does not have the key
  std::optional<std::string> b;

  friend bool operator==(const KeyDifference&, const KeyDifference&) = default;
};

// Of the resolved scenarios, so that a default that is written out is no difference. In the order of `a`, behind them
// what only `b` has.
std::vector<KeyDifference> key_differences(const Scenario& a, const Scenario& b);

}  // namespace mirfak
