#pragma once

#include "formula/token.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak::formula {

enum class Type : std::uint8_t {
  number,
  truth,
  choice,  // a word of a list: the index of the word in the list
  set,     // words of a list: their bits in a whole number
  text,    // a word whose list is not known: that of the choice or set next to it
};

// Operation that joins an operand to the operands before it.
enum class Operation : std::uint8_t {
  none,
  either,  // or
  both,    // and
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in,
  add,
  subtract,
  multiply,
  divide,
  floor_divide,  // quotient rounded down
  remainder,     // remainder of floor_divide, with the sign of the divisor
};

// Kind of a formula, from the tightest to the loosest.
enum class Kind : std::uint8_t {
  number,
  truth,
  text,
  name,
  list,
  negative,
  product,
  sum,
  comparison,
  negation,
  all,
  any
};

// Syntax tree of an expression: a size such as heads / kv_heads, or a condition such as 2 <= tensor <= 8.
// The operands of a product, a sum, a comparison, `all` (and) and `any` (or) stand in one list, from left to right.
struct Formula {
  Kind kind = Kind::number;
  Operation by = Operation::none;  // joins it to the operands before it
  Type type = Type::number;
  bool whole = true;           // Type::number: has no fraction
  std::uint16_t index = 0;     // Kind::name: of the name in the vocabulary
  double number = 0;           // value of a number, a truth (1 or 0) or a text (its index in the list)
  std::string word;            // name or text
  std::vector<Formula> parts;  // operands, or items of a list
  Place place;                 // first byte; in conditions parentheses included
  Place sign;                  // first byte of the operation that joins it
  Place end;                   // first byte of the next token: of operands of comparisons

  // Compares what the text says.
  friend bool operator==(const Formula& a, const Formula& b) {
    return a.kind == b.kind && a.by == b.by && a.number == b.number && a.word == b.word && a.parts == b.parts;
  }
};

// Sign of each operation, and the kind of formula that it makes.
struct Sign {
  std::string_view text;
  Kind kind;
};
const Sign& sign_of(Operation operation);
// Returns the operation that a token stands for in a formula of this kind; Operation::none: it stands for none.
Operation operation_of(const Token& token, Kind kind);

// Name that a condition can use, and the type of its value.
struct Name {
  std::string_view name;
  std::string_view sentence;
  Type type = Type::number;
  const std::vector<std::string>& (*words)() = nullptr;  // Type::choice and set: the list of words
  bool whole = true;                                     // Type::number: has no fraction
};

// Names of a language of conditions. The data that views refer to stays valid as long as conditions are read.
struct Vocabulary {
  std::span<const Name> names;
  std::string_view otherwise;  // hint about a name that resembles no name
  std::string_view example;    // "tensor <= 8"
  std::string_view examples;   // "tensor <= 8 or recompute == 'full'"
  std::string_view subject;    // end of the message on a division by zero, a literal: " for a strategy of the search"
};

// Calls `visit` with each name of a formula, from left to right.
template <typename Visit>
void for_each_name(const Formula& formula, const Visit& visit) {
  if (formula.kind == Kind::name) visit(formula);
  for (const Formula& part : formula.parts) for_each_name(part, visit);
}

}  // namespace mirfak::formula
