#pragma once

#include "base/values.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace mirfak {

// Returns the linear layers of mirfak ("qkv", "fc1") that a word of PEFT's target_modules names in all layers: a
// module's name ("q_proj"), its end ("self_attn.q_proj"), or a regular expression of one of these with alternatives
// ("model.layers.[\d]+.(mlp|self_attn).(up|down|q)_proj"). `targets`: layers by the last part of a name; `places`: the
// parts that may stand in front of it, which choose no layer among several. nullopt: a name is not among them, or the
// word chooses some of the layers.
std::optional<std::set<std::string>> targets_of(std::string_view word, const Value& targets, const Value& places);

}  // namespace mirfak
