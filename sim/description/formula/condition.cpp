#include "formula/condition.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "formula/evaluate.hpp"
#include "formula/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak::formula {

Condition Condition::parse(const Node& node, const Vocabulary& vocabulary) {
  if (!node.is_scalar()) {
    node.fail(fmt::format("expected a rule such as {}, found {}", vocabulary.example, node.described()));
  }
  Condition out;
  const Language language = {&vocabulary, 32, "a number, a name or '('", "')'", "but the rule ends"};
  out.formula_ = Parser(node, tokens_of_condition(node), language).read_condition();
  for_each_name(out.formula_, [&](const Formula& name) {
    if (std::find(out.named_.begin(), out.named_.end(), name.index) == out.named_.end())
      out.named_.push_back(name.index);
  });
  out.keep_places(node, out.formula_);
  out.text_ = node.as_string();
  out.path_ = node.path();
  out.where_ = node.where();
  out.subject_ = vocabulary.subject;
  return out;
}

void Condition::keep_places(const Node& node, const Formula& formula) {
  const bool computes = formula.by >= Operation::add;
  if (computes) places_.emplace(formula.sign.offset, node.place_of(formula.sign.offset));
  for (const Formula& part : formula.parts) keep_places(node, part);
}

struct Condition::Values {
  const Condition& condition;
  std::span<const double> values;
  std::vector<Comparison>* comparisons = nullptr;  // gets what is compared

  double value(const Formula& name) const { return values[name.index]; }
  // Infinity and NaN, the results of divisions by zero, fail the comparison too.
  void computed(const Formula& /*formula*/, const Formula& part, double left, double right, double result) const {
    if (!(std::abs(result) <= kMaxWhole)) condition.fail(part.sign, left, right);
  }
  void compared(const Formula& left_part, const Formula& right_part, double left, double right, bool holds) const {
    if (comparisons == nullptr) return;
    const std::size_t begin = left_part.place.offset;
    const std::string_view text = std::string_view(condition.text_).substr(begin, right_part.end.offset - begin);
    comparisons->push_back({std::string(trimmed(text)), left, right, holds});
  }
};

bool Condition::holds(std::span<const double> values) const { return Evaluator(Values{*this, values}).holds(formula_); }

std::vector<Condition::Comparison> Condition::comparisons(std::span<const double> values) const {
  std::vector<Comparison> out;
  Evaluator(Values{*this, values, &out}).holds(formula_);
  return out;
}

void Condition::fail(Place operation, double left, double right) const {
  const CharacterPlace& where = places_.at(operation.offset);
  const std::string prefix = path_.empty() ? std::string() : path_ + ": ";
  const bool by_zero = right == 0;  // no sum, difference or product with 0 is too large
  const std::string message =
      by_zero ? fmt::format("{}division by zero{}, in '{}'", prefix, subject_, excerpt(text_))
              : fmt::format("{}of {:g} and {:g} a number beyond 2^53, where whole numbers are rounded, in '{}'", prefix,
                            left, right, excerpt(text_));
  throw Error(ErrorKind::input, where.where, message,
              by_zero ? "put a condition in front that decides then, for example x == 0 or y % x == 0"
                      : "divide before multiplying, or compare smaller numbers",
              where.line);
}

}  // namespace mirfak::formula
