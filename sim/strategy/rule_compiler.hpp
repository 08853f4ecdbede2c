#pragma once

#include "base/document.hpp"
#include "strategy/rule_fields.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mirfak {

// What an instruction does with the stack of numbers; truths are 1 and 0.
enum class RuleOperation : std::uint8_t {
  field,     // pushes field `a`
  constant,  // pushes constant `a`
  add,       // the arithmetic ones take two; what they cannot compute is a fault at place `a`
  subtract,
  multiply,
  divide,
  floor_divide,  // rounded down
  remainder,     // of floor_divide: has the sign of the divisor
  negate,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  member,     // is it one of the `b` constants from `a`?
  has_bit,    // of a set of modules: is bit `a` in it?
  invert,     // not
  tuck,       // a copy of the upper goes under the lower: x y -> y x y
  and_then,   // false: stays, and execution goes on at `a`; true: is taken off
  or_else,    // the reverse
  and_chain,  // y, truth of x < y: false: becomes the result, and execution goes on at `a`; true: leaves y
};

struct RuleInstruction {
  RuleOperation operation{};
  std::uint16_t a = 0;
  std::uint16_t b = 0;
};

// Where a comparison stands in the text of its rule: bytes.
struct RuleComparisonPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A rule as a postfix program that leaves one truth.
struct RuleProgram {
  std::vector<RuleInstruction> code;
  std::vector<double> constants;
  std::vector<CharacterPlace> places;            // of the arithmetic operators
  std::vector<RuleComparisonPlace> comparisons;  // `a` of equal, ..., greater_equal is an index of it
  std::vector<std::uint16_t> fields;             // that it reads, each once
};

// What the names of a rule mean.
struct RuleVocabulary {
  std::span<const RuleFieldInfo> fields;  // as long as the compiler runs
  std::string_view otherwise;             // said of a name that is like none
  std::string_view example;               // "tensor <= 8"
  std::string_view examples;              // "tensor <= 8 or recompute == 'full'"
};
RuleVocabulary strategy_vocabulary();  // rule_fields()

// No program needs more: 3 for each level of nesting (a comparison, a sum and a product that wait for their right
// side), and the copy of a chained comparison.
inline constexpr std::size_t kRuleStack = 128;

// Error(input) at the character that is wrong: syntax, unknown names and values (with the nearest), types, division by
// a literal 0, nesting deeper than 32.
RuleProgram compile_rule(const Node& rule, const RuleVocabulary& vocabulary);

}  // namespace mirfak
