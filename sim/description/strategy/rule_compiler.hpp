#pragma once

#include "base/document.hpp"
#include "strategy/rule_fields.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mirfak {

// Effect of an instruction on the stack of numbers. Truth values are 1 and 0.
enum class RuleOperation : std::uint8_t {
  field,     // pushes field `a`
  constant,  // pushes constant `a`
  add,       // arithmetic instructions take two numbers; a result that cannot be computed is a fault at place `a`
  subtract,
  multiply,
  divide,
  floor_divide,  // quotient rounded down
  remainder,     // remainder of floor_divide, with the sign of the divisor
  negate,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  member,     // tests if the top is one of the `b` constants from index `a` on
  has_bit,    // tests if bit `a` is in the top, a set of modules
  invert,     // logical not
  tuck,       // inserts a copy of the top below the second number: x y -> y x y
  and_then,   // top is false: keeps it and jumps to `a`; true: pops it
  or_else,    // top is true: keeps it and jumps to `a`; false: pops it
  and_chain,  // stack: y, truth of x < y. False: both become one false, and execution jumps to `a`; true: leaves y
};

struct RuleInstruction {
  RuleOperation operation{};
  std::uint16_t a = 0;
  std::uint16_t b = 0;
};

// Byte range of a comparison in the text of its rule.
struct RuleComparisonPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Rule as a postfix program that leaves one truth value on the stack.
struct RuleProgram {
  std::vector<RuleInstruction> code;
  std::vector<double> constants;
  std::vector<CharacterPlace> places;            // places of the arithmetic operators
  std::vector<RuleComparisonPlace> comparisons;  // `a` of equal, ..., greater_equal is an index into it
  std::vector<std::uint16_t> fields;             // fields that the rule reads, each once
};

// Meaning of the names in a rule.
struct RuleVocabulary {
  std::span<const RuleFieldInfo> fields;  // valid as long as the compiler runs
  std::string_view otherwise;             // message for a name that resembles no field
  std::string_view example;               // "tensor <= 8"
  std::string_view examples;              // "tensor <= 8 or recompute == 'full'"
};
RuleVocabulary strategy_vocabulary();  // rule_fields()

// Stack size that no program exceeds: 3 for each level of nesting (a comparison, a sum and a product that wait for
// their right sides), and the copy of a chained comparison.
inline constexpr std::size_t kRuleStack = 128;

// Compiles a rule. Error(input) at the faulty character: syntax, unknown names and values (with the nearest known one),
// types, division by a literal 0, nesting deeper than 32.
RuleProgram compile_rule(const Node& rule, const RuleVocabulary& vocabulary);

}  // namespace mirfak
