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

// Condition on strategies that a user writes: "tensor <= 8", "not (recompute == 'full' and micro_batch > 4)". README.md
// of this folder describes the language. An expression is read once and evaluated for millions of strategies, without
// look-ups or allocations. It is plain data, independent of the document that it was read from.
class RuleExpression {
 public:
  // Reads a rule on strategies. Error(input) at the faulty character of the scalar.
  static RuleExpression parse(const Node& node);
  // Reads a rule on things other than strategies: `vocabulary` states the names that the rule can use.
  static RuleExpression parse(const Node& node, const RuleVocabulary& vocabulary);

  // Evaluates the rule. Error(input) at the operator for a result that is not exact: a division by zero, or a result
  // beyond 2^53, above which whole numbers are rounded. `and` and `or` evaluate their right side only if the left side
  // does not decide, so "tensor == 1 or heads % (tensor - 1) == 0" is safe.
  bool holds(const RuleFields& fields) const { return holds(fields.values()); }
  bool holds(std::span<const double> values) const;  // values of all fields of its vocabulary

  // Returns the comparisons of the rule with their values and results, in the order of evaluation; comparisons that
  // were not needed are left out. Errors are those of holds().
  struct Comparison {
    std::string text;  // text of the comparison in the rule
    double left = 0;
    double right = 0;
    bool holds = false;
  };
  std::vector<Comparison> comparisons(std::span<const double> values) const;

  const std::vector<std::uint16_t>& named() const { return program_.fields; }  // indices of fields in its vocabulary
  const RuleFieldSet& fields() const { return fields_; }                       // fields that a rule on strategies names
  // Returns the strategy fields that must be known before the rule can be evaluated (RuleFieldInfo::sources of its
  // fields).
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
