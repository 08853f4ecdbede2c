#include "strategy/rule_expression.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "strategy/rule_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mirfak {

namespace {

// Returns the exact floor for whole numbers below 2^53: the rounded quotient is never rounded up to the next whole
// number, which is at least 1/right away, more than half a unit in the last place of the quotient.
double floor_divide(double left, double right) { return std::floor(left / right); }

bool has_bit(double set, unsigned bit) { return (static_cast<unsigned long>(set) >> bit & 1U) != 0; }

}  // namespace

RuleExpression RuleExpression::parse(const Node& node) {
  RuleExpression rule = parse(node, strategy_vocabulary());
  rule.on_strategies_ = true;
  for (const std::uint16_t named : rule.program_.fields) {
    rule.fields_.set(named);
    rule.sources_ |= info_of(static_cast<RuleField>(named)).sources;
  }
  return rule;
}

RuleExpression RuleExpression::parse(const Node& node, const RuleVocabulary& vocabulary) {
  RuleExpression rule;
  rule.program_ = compile_rule(node, vocabulary);
  rule.on_strategies_ = false;
  rule.text_ = node.as_string();
  rule.path_ = node.path();
  rule.where_ = node.where();
  return rule;
}

bool RuleExpression::holds(std::span<const double> values) const {
  return evaluated(values, [](const RuleInstruction&, double, double, double) {});
}

std::vector<RuleExpression::Comparison> RuleExpression::comparisons(std::span<const double> values) const {
  std::vector<Comparison> out;
  evaluated(values, [&](const RuleInstruction& now, double left, double right, double truth) {
    const RuleComparisonPlace& place = program_.comparisons[now.a];
    const std::string_view text = std::string_view(text_).substr(place.begin, place.end - place.begin);
    out.push_back({std::string(trimmed(text)), left, right, truth != 0});
  });
  return out;
}

template <typename Observe>
bool RuleExpression::evaluated(std::span<const double> values, const Observe& observe) const {
  std::array<double, kRuleStack> stack;  // element 0 is never read, the others are written before they are read
  double* top = stack.data();
  const RuleInstruction* const begin = program_.code.data();
  const RuleInstruction* const end = begin + program_.code.size();
  for (const RuleInstruction* at = begin; at != end; ++at) {
    const RuleInstruction now = *at;
    switch (now.operation) {
      case RuleOperation::field:
        *++top = values[now.a];
        break;
      case RuleOperation::constant:
        *++top = program_.constants[now.a];
        break;
      case RuleOperation::add:
        --top;
        *top = checked(now, *top, top[1], *top + top[1]);
        break;
      case RuleOperation::subtract:
        --top;
        *top = checked(now, *top, top[1], *top - top[1]);
        break;
      case RuleOperation::multiply:
        --top;
        *top = checked(now, *top, top[1], *top * top[1]);
        break;
      case RuleOperation::divide:
        --top;
        *top = checked(now, *top, top[1], *top / top[1]);
        break;
      case RuleOperation::floor_divide:
        --top;
        *top = checked(now, *top, top[1], floor_divide(*top, top[1]));
        break;
      case RuleOperation::remainder:
        --top;
        *top = checked(now, *top, top[1], *top - floor_divide(*top, top[1]) * top[1]);
        break;
      case RuleOperation::negate:
        *top = -*top;
        break;
      case RuleOperation::equal: {
        --top;
        const double truth = *top == top[1] ? 1 : 0;
        observe(now, *top, top[1], truth);
        *top = truth;
        break;
      }
      case RuleOperation::not_equal: {
        --top;
        const double truth = *top != top[1] ? 1 : 0;
        observe(now, *top, top[1], truth);
        *top = truth;
        break;
      }
      case RuleOperation::less: {
        --top;
        const double truth = *top < top[1] ? 1 : 0;
        observe(now, *top, top[1], truth);
        *top = truth;
        break;
      }
      case RuleOperation::less_equal: {
        --top;
        const double truth = *top <= top[1] ? 1 : 0;
        observe(now, *top, top[1], truth);
        *top = truth;
        break;
      }
      case RuleOperation::greater: {
        --top;
        const double truth = *top > top[1] ? 1 : 0;
        observe(now, *top, top[1], truth);
        *top = truth;
        break;
      }
      case RuleOperation::greater_equal: {
        --top;
        const double truth = *top >= top[1] ? 1 : 0;
        observe(now, *top, top[1], truth);
        *top = truth;
        break;
      }
      case RuleOperation::member: {
        const double* const first = program_.constants.data() + now.a;
        *top = std::find(first, first + now.b, *top) != first + now.b ? 1 : 0;
        break;
      }
      case RuleOperation::has_bit: {
        const double set = *top--;
        *top = has_bit(set, now.a) ? 1 : 0;
        break;
      }
      case RuleOperation::invert:
        *top = 1 - *top;
        break;
      case RuleOperation::tuck: {
        const double right = *top;
        *top = top[-1];
        top[-1] = right;
        *++top = right;
        break;
      }
      case RuleOperation::and_then:
      case RuleOperation::or_else:
        if ((*top != 0) == (now.operation == RuleOperation::or_else)) {
          at = begin + now.a - 1;
        } else {
          --top;
        }
        break;
      case RuleOperation::and_chain:
        --top;
        if (top[1] == 0) {
          *top = 0;
          at = begin + now.a - 1;
        }
        break;
    }
  }
  return *top != 0;
}

// Checks that a result is at most 2^53. Infinity and NaN, the results of divisions by zero, fail the comparison too.
double RuleExpression::checked(const RuleInstruction& now, double left, double right, double result) const {
  if (!(std::abs(result) <= kMaxInRules)) fail(now.a, left, right);
  return result;
}

void RuleExpression::fail(std::size_t place, double left, double right) const {
  const CharacterPlace& where = program_.places[place];
  const std::string prefix = path_.empty() ? std::string() : path_ + ": ";
  const bool by_zero = right == 0;  // no sum, difference or product with 0 is too large
  const std::string message =
      by_zero ? fmt::format("{}division by zero{}, in '{}'", prefix,
                            on_strategies_ ? " for a strategy of the search" : "", excerpt(text_))
              : fmt::format("{}of {:g} and {:g} a number beyond 2^53, where whole numbers are rounded, in '{}'", prefix,
                            left, right, excerpt(text_));
  throw Error(ErrorKind::input, where.where, message,
              by_zero ? "put a condition in front that decides then, for example x == 0 or y % x == 0"
                      : "divide before multiplying, or compare smaller numbers",
              where.line);
}

}  // namespace mirfak
