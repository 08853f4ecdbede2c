#pragma once

#include "formula/formula.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak::formula {

// Returns the result of an arithmetic operation. The floor is exact for whole numbers below 2^53: the rounded quotient
// is never rounded up to the next whole number, which is at least 1/right away, more than half a unit in its last
// place.
inline double computed(Operation operation, double left, double right) {
  switch (operation) {
    case Operation::add:
      return left + right;
    case Operation::subtract:
      return left - right;
    case Operation::multiply:
      return left * right;
    case Operation::floor_divide:
      return std::floor(left / right);
    case Operation::remainder:
      return left - std::floor(left / right) * right;
    default:
      return left / right;
  }
}

inline bool compared(Operation operation, double left, double right) {
  switch (operation) {
    case Operation::equal:
      return left == right;
    case Operation::not_equal:
      return left != right;
    case Operation::less:
      return left < right;
    case Operation::less_equal:
      return left <= right;
    case Operation::greater:
      return left > right;
    default:
      return left >= right;
  }
}

// Computes formulas, without look-ups of its own or allocations. `Names` knows the values of names and is told what
// else happens:
//   double value(const Formula& name);
//   void computed(const Formula& formula, const Formula& part, double left, double right, double result);
//     `part` joined its value `right` to the value `left` of the parts of `formula` before it: for checks
//   void compared(const Formula& left_part, const Formula& right_part, double left, double right, bool holds);
template <typename Names>
class Evaluator {
 public:
  explicit Evaluator(Names names) : names_(names) {}

  // Returns the value of a formula: of a truth 1 or 0.
  double value(const Formula& formula) const {
    if (formula.kind == Kind::name) return names_.value(formula);
    return formula.kind < Kind::name ? formula.number : value_of_parts(formula);
  }

  // True if a formula holds: if its value is not 0.
  bool holds(const Formula& formula) const {
    if (formula.kind == Kind::comparison) return compares(formula);
    if (formula.kind < Kind::comparison) return value(formula) != 0;
    // A negation is one part that decides by holding, as in `any`, and turns the answer round.
    const bool decisive = formula.kind != Kind::all;
    for (const Formula& part : formula.parts) {
      if (holds(part) == decisive) return formula.kind == Kind::any;
    }
    return formula.kind != Kind::any;
  }

 private:
  [[gnu::noinline]] double value_of_parts(const Formula& formula) const {  // so that single operands need no call
    if (formula.kind >= Kind::comparison) return holds(formula) ? 1 : 0;
    return formula.kind == Kind::negative ? -value(formula.parts.front()) : fold(formula);
  }

  double fold(const Formula& formula) const {
    auto part = formula.parts.begin();
    double left = value(*part);
    while (++part != formula.parts.end()) {
      const double right = value(*part);
      const double result = computed(part->by, left, right);
      names_.computed(formula, *part, left, right, result);
      left = result;
    }
    return left;
  }

  [[gnu::noinline]] bool compares(const Formula& formula) const {
    auto part = formula.parts.begin();
    double left = value(*part);
    while (++part != formula.parts.end()) {
      if (part->by == Operation::in) return contains(*part, left);
      if (part->by == Operation::not_in) return !contains(*part, left);
      const double right = value(*part);
      const bool truth = compared(part->by, left, right);
      names_.compared(part[-1], *part, left, right, truth);
      if (!truth) return false;
      left = right;
    }
    return true;
  }

  bool contains(const Formula& list, double element) const {
    if (list.kind == Kind::name) {
      return (static_cast<unsigned long>(value(list)) >> static_cast<unsigned>(element) & 1U) != 0;
    }
    return std::any_of(list.parts.begin(), list.parts.end(),
                       [&](const Formula& item) { return item.number == element; });
  }

  Names names_;
};

}  // namespace mirfak::formula
