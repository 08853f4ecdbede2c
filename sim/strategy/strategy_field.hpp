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

// Why a search refuses a key of `strategy`: it chooses the field itself. Empty: it does not.
struct ChosenBySearch {
  std::string_view message;
  std::string_view hint;
};

// A field of a strategy: everything that reading, writing, rules, searches, reports, cache keys and documentation know
// of it. What it means for an iteration stands where it is used. Written as a chain, in the table of
// strategy_fields.hpp:
//   field("zero", &Strategy::zero, "ZeRO stage").between(0, 3).not_in_blocks()
template <typename T>
struct StrategyField {
  using Type = T;

  std::string_view key;  // of `strategy` in scenarios, and in rules
  T Strategy::*member;
  std::string_view sentence;
  double minimum = 0;  // of a number, or of each of a list
  double maximum = 0;
  const std::vector<std::string>& (*names)() = nullptr;  // of an enumeration or a set: its values
  std::string_view default_text = {};                    // empty: the value that Strategy() has
  bool optional = false;                                 // the value that Strategy() has cannot be written as such
  bool may_be_null = false;                              // null is a word for its default
  T (*completion)(const Strategy&, int gpus) = nullptr;  // what a scenario that leaves the key out means
  double (*effective)(const Strategy&) = nullptr;        // the value that holds, of one that is left out too
  std::array<std::string_view, 3> decided_by = {};       // the fields beside it that `effective` looks at
  bool (*means_something)(const Strategy&) = nullptr;    // else written scenarios leave it out
  bool in_blocks = true;                                 // blocks are sharded, or priced, by it
  ChosenBySearch chosen = {};

  constexpr StrategyField between(double least, double most) const {
    StrategyField out = *this;
    out.minimum = least;
    out.maximum = most;
    return out;
  }
  constexpr StrategyField among(const std::vector<std::string>& (*values)()) const {
    StrategyField out = *this;
    out.names = values;
    return out;
  }
  // A default that is not a value of the key; `text` says what holds then.
  constexpr StrategyField or_else(std::string_view text) const {
    StrategyField out = *this;
    out.default_text = text;
    out.optional = true;
    return out;
  }
  constexpr StrategyField or_none() const {
    StrategyField out = or_else("none");
    out.may_be_null = true;
    return out;
  }
  // A default that other fields, or the number of GPUs, decide.
  constexpr StrategyField completed(std::string_view text, T (*by)(const Strategy&, int gpus)) const {
    StrategyField out = *this;
    out.default_text = text;
    out.completion = by;
    return out;
  }
  constexpr StrategyField holding(double (*value)(const Strategy&), std::string_view first,
                                  std::string_view second = {}, std::string_view third = {}) const {
    StrategyField out = *this;
    out.effective = value;
    out.decided_by = {first, second, third};
    return out;
  }
  constexpr StrategyField only_if(bool (*condition)(const Strategy&)) const {
    StrategyField out = *this;
    out.means_something = condition;
    return out;
  }
  constexpr StrategyField not_in_blocks() const {
    StrategyField out = *this;
    out.in_blocks = false;
    return out;
  }
  constexpr StrategyField chosen_by_search(ChosenBySearch why) const {
    StrategyField out = *this;
    out.chosen = why;
    return out;
  }
};

template <typename T>
constexpr StrategyField<T> field(std::string_view key, T Strategy::*member, std::string_view sentence) {
  return {key, member, sentence};
}

}  // namespace mirfak
