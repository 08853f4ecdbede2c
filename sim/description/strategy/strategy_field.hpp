#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

struct Strategy;

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

// Reason why a search refuses a key of `strategy`: the search chooses the field itself. Empty: the search does not
// refuse the key.
struct ChosenBySearch {
  std::string_view message;
  std::string_view hint;
};

// Field of a strategy: everything that reading, writing, rules, searches, reports, cache keys and documentation know
// about the field. Its effect on an iteration is implemented where the field is used. Fields are written as chains in
// the table of strategy_fields.hpp:
//   field("zero", &Strategy::zero, "ZeRO stage").between(0, 3).not_in_blocks()
template <typename T>
struct StrategyField {
  using Type = T;

  std::string_view key;  // key of `strategy` in scenarios, and name in rules
  T Strategy::*member;
  std::string_view sentence;
  double minimum = 0;  // range of a number, or of each element of a list
  double maximum = 0;
  const std::vector<std::string>& (*names)() = nullptr;  // names of the values of an enumeration or a set
  std::string_view default_text = {};                    // empty: the default is the value in Strategy()
  bool optional = false;                                 // scenarios cannot write the value in Strategy()
  bool may_be_null = false;                              // scenarios may write null for the default
  T (*completion)(const Strategy&, int gpus) = nullptr;  // value for a scenario that leaves the key out
  double (*effective)(const Strategy&) = nullptr;        // effective value, also for a field that is left out
  std::array<std::string_view, 3> decided_by = {};       // other fields that `effective` reads
  bool (*means_something)(const Strategy&) = nullptr;    // false: written scenarios leave the field out
  bool in_blocks = true;                                 // blocks are sharded or priced by the field
  ChosenBySearch chosen = {};

  constexpr StrategyField& between(double least, double most) { return minimum = least, maximum = most, *this; }
  constexpr StrategyField& among(const std::vector<std::string>& (*values)()) { return names = values, *this; }
  // Sets a default that is not a value of the key; `text` states the effective value.
  constexpr StrategyField& or_else(std::string_view text) { return default_text = text, optional = true, *this; }
  constexpr StrategyField& or_none() { return may_be_null = true, or_else("none"); }
  // Sets a default that other fields, or the number of GPUs, decide.
  constexpr StrategyField& completed(std::string_view text, T (*by)(const Strategy&, int gpus)) {
    return default_text = text, completion = by, *this;
  }
  constexpr StrategyField& holding(double (*value)(const Strategy&), std::string_view first,
                                   std::string_view second = {}, std::string_view third = {}) {
    return effective = value, decided_by = {first, second, third}, *this;
  }
  constexpr StrategyField& only_if(bool (*condition)(const Strategy&)) { return means_something = condition, *this; }
  constexpr StrategyField& not_in_blocks() { return in_blocks = false, *this; }
  constexpr StrategyField& chosen_by_search(ChosenBySearch why) { return chosen = why, *this; }
};

template <typename T>
constexpr StrategyField<T> field(std::string_view key, T Strategy::*member, std::string_view sentence) {
  return {key, member, sentence};
}

}  // namespace mirfak
