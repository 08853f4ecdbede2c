#pragma once

#include "formula/formula.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace mirfak::formula {

// Condition that a user writes: "tensor <= 8", "not (recompute == 'full' and micro_batch > 4)". README.md of this
// folder describes the language. A condition is read once and evaluated for millions of values, without look-ups or
// allocations. It is plain data, independent of the document that it was read from.
class Condition {
 public:
  // Reads a condition. Error(input) at the faulty character of the scalar: syntax, unknown names and words (with the
  // nearest known one), types, division by a literal 0, nesting deeper than 32.
  static Condition parse(const Node& node, const Vocabulary& vocabulary);

  // Evaluates the condition with the values of all names of its vocabulary. Error(input) at the operator for a result
  // that is not exact: a division by zero, or a result beyond 2^53, above which whole numbers are rounded. `and` and
  // `or` evaluate their right side only if the left side does not decide, so "tensor == 1 or heads % (tensor - 1) == 0"
  // is safe.
  bool holds(std::span<const double> values) const;

  // Returns the comparisons of the condition with their values and results, in the order of evaluation; comparisons
  // that were not needed are left out. Errors are those of holds().
  struct Comparison {
    std::string text;  // text of the comparison in the condition
    double left = 0;
    double right = 0;
    bool holds = false;
  };
  std::vector<Comparison> comparisons(std::span<const double> values) const;

  const std::vector<std::uint16_t>& named() const { return named_; }  // indices of names in its vocabulary, each once
  const std::string& text() const { return text_; }
  const Location& where() const { return where_; }

 private:
  struct Values;
  void keep_places(const Node& node, const Formula& formula);
  [[noreturn]] void fail(Place operation, double left, double right) const;

  Formula formula_;
  std::vector<std::uint16_t> named_;
  std::map<std::size_t, CharacterPlace> places_;  // of the arithmetic operations, by their offsets
  std::string text_;
  std::string path_;  // "search.rules[0]"
  Location where_;
  std::string_view subject_;
};

}  // namespace mirfak::formula
