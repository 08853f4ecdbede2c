#include "block/sizes.hpp"

#include "base/text.hpp"
#include "block/printer.hpp"
#include "formula/evaluate.hpp"

#include <fmt/format.h>

#include <cmath>

namespace mirfak::block {

namespace {

constexpr double kMaxExtent = 1e12;

bool is_whole(double value) { return std::floor(value) == value; }

struct Names {
  const Sizes& sizes;
  const Node* source;

  double value(const Formula& name) const {
    const auto found = sizes.find(name.word);
    if (found != sizes.end() || source == nullptr) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, value] : sizes) names.push_back(known);
    source->fail_at(name.place.offset, fmt::format("unknown size '{}'", name.word),
                    did_you_mean(name.word, names, "the block is given " + join_or(names)));
  }
  void computed(const Formula& formula, const Formula& part, double /*left*/, double right, double /*result*/) const {
    if (source == nullptr || right != 0 || part.by != formula::Operation::divide) return;
    Formula quotient = formula;
    quotient.parts.resize(static_cast<std::size_t>(&part - formula.parts.data()) + 1);
    source->fail_at(formula.place.offset, fmt::format("{} divides by 0", print(quotient)));
  }
  void compared(const Formula&, const Formula&, double, double, bool) const {}
};

}  // namespace

double value_of(const Formula& formula, const Sizes& sizes, const Node* source) {
  const Names names{sizes, source};
  return formula::Evaluator(names).value(formula);
}

std::int64_t SizeValues::extent(const Formula& size) const {
  return count(size, 1, static_cast<std::int64_t>(kMaxExtent));
}

std::int64_t SizeValues::count(const Formula& size, std::int64_t minimum, std::int64_t maximum) const {
  const double value = evaluate(size);
  if (!is_whole(value)) {
    if (size.kind != formula::Kind::product || size.parts.back().by != formula::Operation::divide) {
      source_->fail_at(size.place.offset, fmt::format("expected a whole number, found {} = {:g}", print(size), value));
    }
    Formula dividend = size;
    dividend.parts.pop_back();
    source_->fail_at(size.place.offset, fmt::format("{} is not exact: {:g} / {:g}", print(size), evaluate(dividend),
                                                    evaluate(size.parts.back())));
  }
  if (value < static_cast<double>(minimum) || value > static_cast<double>(maximum)) {
    source_->fail_at(size.place.offset, fmt::format("expected a size from {} to {}, found {} = {:g}", minimum, maximum,
                                                    print(size), value));
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace mirfak::block
