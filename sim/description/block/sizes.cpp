#include "block/sizes.hpp"

#include "base/text.hpp"
#include "block/printer.hpp"

#include <fmt/format.h>

#include <cmath>

namespace mirfak::block {

namespace {

constexpr double kMaxExtent = 1e12;

bool is_whole(double value) { return std::floor(value) == value; }

}  // namespace

double combined(Size::Kind kind, double left, double right) {
  switch (kind) {
    case Size::Kind::add:
      return left + right;
    case Size::Kind::subtract:
      return left - right;
    case Size::Kind::multiply:
      return left * right;
    default:
      return left / right;
  }
}

double SizeValues::evaluate(const Size& size) const {
  if (size.kind == Size::Kind::number) return size.number;
  if (size.kind == Size::Kind::name) {
    if (const auto found = values_.find(size.name); found != values_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, value] : values_) names.push_back(name);
    source_->fail(size.place, fmt::format("unknown size '{}'", size.name),
                  did_you_mean(size.name, names, "the block is given " + join_or(names)));
  }
  const double left = evaluate(size.parts[0]);
  const double right = evaluate(size.parts[1]);
  if (size.kind == Size::Kind::divide && right == 0) {
    source_->fail(size.place, fmt::format("{} divides by 0", print(size)));
  }
  return combined(size.kind, left, right);
}

std::int64_t SizeValues::extent(const Size& size) const {
  return count(size, 1, static_cast<std::int64_t>(kMaxExtent));
}

std::int64_t SizeValues::count(const Size& size, std::int64_t minimum, std::int64_t maximum) const {
  const double value = evaluate(size);
  if (!is_whole(value)) {
    const bool quotient = size.kind == Size::Kind::divide;
    source_->fail(size.place, quotient ? fmt::format("{} is not exact: {:g} / {:g}", print(size),
                                                     evaluate(size.parts[0]), evaluate(size.parts[1]))
                                       : fmt::format("expected a whole number, found {} = {:g}", print(size), value));
  }
  if (value < static_cast<double>(minimum) || value > static_cast<double>(maximum)) {
    source_->fail(size.place,
                  fmt::format("expected a size from {} to {}, found {} = {:g}", minimum, maximum, print(size), value));
  }
  return static_cast<std::int64_t>(value);
}

bool SizeValues::holds(const Condition& condition) const {
  const double left = evaluate(condition.left);
  if (condition.comparison.empty()) return left != 0;
  const double right = evaluate(condition.right);
  if (condition.comparison == "==") return left == right;
  if (condition.comparison == "!=") return left != right;
  if (condition.comparison == "<") return left < right;
  if (condition.comparison == "<=") return left <= right;
  return condition.comparison == ">" ? left > right : left >= right;
}

}  // namespace mirfak::block
