#pragma once

#include "base/document.hpp"
#include "strategy/rule_compiler.hpp"
#include "strategy/rule_fields.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// A condition on strategies that a user writes: "tensor <= 8", "not (recompute == 'full' and micro_batch > 4)". The
// language is in README.md of this folder. Read once, evaluated for millions of strategies: nothing is looked up or
// allocated then. Plain data, independent of the document it was read from.
class RuleExpression {
 public:
  // Error(input) at the character of the scalar that is wrong.
  static RuleExpression parse(const Node& node);
  // The same of other things than strategies: `vocabulary` says what it can name.
  static RuleExpression parse(const Node& node, const RuleVocabulary& vocabulary);

  // Error(input) at the operator for what has no exact answer: a division by zero, and a result beyond 2^53, from where
  // on whole numbers are rounded. `and` and `or` evaluate their right side only where the left one does not decide, so
  // "tensor == 1 or heads % (tensor - 1) == 0" is safe.
  bool holds(const RuleFields& fields) const { return holds(fields.values()); }
  bool holds(std::span<const double> values) const;  // of the fields of its vocabulary

  // What its comparisons say, in the order in which they are evaluated: those that were not needed are left out. Errors
  // as of holds().
  struct Comparison {
    std::string text;  // as it stands in the rule
    double left = 0;
    double right = 0;
    bool holds = false;
  };
  std::vector<Comparison> comparisons(std::span<const double> values) const;

  const std::vector<std::uint16_t>& named() const { return program_.fields; }  // places in its vocabulary
  const RuleFieldSet& fields() const { return fields_; }                       // of rules on strategies: that it names
  // What of a strategy has to be known before it can be evaluated (RuleFieldInfo::sources of its fields).
  const RuleFieldSet& sources() const { return sources_; }
  const std::string& text() const { return text_; }
  const Location& where() const { return where_; }

 private:
  template <typename Observe>
  bool evaluated(std::span<const double> values, const Observe& observe) const;
  double checked(const RuleInstruction& now, double left, double right, double result) const;
  [[noreturn]] void fail(std::size_t place, double left, double right) const;

  RuleProgram program_;
  RuleFieldSet fields_;
  RuleFieldSet sources_;
  bool on_strategies_ = true;
  std::string text_;
  std::string path_;  // "search.rules[0]"
  Location where_;
};

}  // namespace mirfak
