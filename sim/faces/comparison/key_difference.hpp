#pragma once

#include "base/document.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A key that has different values in two scenarios, or that only one of them has.
struct KeyDifference {
  std::string key;               // "strategy.tensor", "cluster.nodes[0].count"
  std::optional<std::string> a;  // value as YAML on one line; absent: this scenario does not have the key
  std::optional<std::string> b;

  friend bool operator==(const KeyDifference&, const KeyDifference&) = default;
};

// Returns the differences between two completed scenarios (Scenario::completed), so that a default that is written out
// is no difference: first the keys of `a` in their order, then the keys that only `b` has.
std::vector<KeyDifference> key_differences(const Value& a, const Value& b);

}  // namespace mirfak
