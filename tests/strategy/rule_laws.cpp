// Random rules against an evaluator that walks the tree they were written from, in whole numbers.

#include "strategy/rule_field_names.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

using namespace mirfak;

namespace {

using Whole = std::optional<std::int64_t>;  // nullopt: a division by zero
using Truth = std::optional<bool>;

constexpr std::array<RuleField, 6> kNumbers = {rule_field("tensor"), rule_field("pipeline"), rule_field("data"),
                                               rule_field("zero"),   rule_field("layers"),   rule_field("micro_batch")};

// A rule, or a part of one, as its text and its value.
template <typename T>
struct Written {
  std::string text;
  T value;
};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {
    for (const RuleField field : kNumbers) fields_[field] = static_cast<double>(pick(0, 12));
    fields_[rule_field("sequence_parallel")] = static_cast<double>(pick(0, 1));
    fields_[rule_field("recompute")] = static_cast<double>(pick(0, 2));
  }

  const RuleFields& fields() const { return fields_; }

  Written<Truth> condition(int depth) {
    switch (depth == 0 ? pick(3, 6) : pick(0, 7)) {
      case 0:
        return joined(depth, "and", false);
      case 1:
        return joined(depth, "or", true);
      case 2: {
        const auto inner = condition(depth - 1);
        return {"not (" + inner.text + ")", inner.value ? Truth(!*inner.value) : Truth()};
      }
      case 3:
        return {"sequence_parallel", fields_[rule_field("sequence_parallel")] != 0};
      case 4:
        return {"recompute != 'selective'", fields_[rule_field("recompute")] != 1};
      case 5:
        return membership(depth);
      default:
        return chain(depth);
    }
  }

 private:
  std::int64_t pick(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }

  Written<Truth> joined(int depth, const char* word, bool decides) {
    const auto left = condition(depth - 1);
    const auto right = condition(depth - 1);
    const std::string text = fmt::format("({}) {} ({})", left.text, word, right.text);
    return {text, !left.value || *left.value == decides ? left.value : right.value};
  }

  Written<Truth> membership(int depth) {
    const auto left = number(depth);
    const std::int64_t a = pick(-3, 9);
    const std::int64_t b = pick(-3, 9);
    const std::string text = fmt::format("{} in [{}, {}]", left.text, a, b);
    return {text, left.value ? Truth(*left.value == a || *left.value == b) : Truth()};
  }

  static bool compare(int relation, std::int64_t a, std::int64_t b) {
    return std::array{a == b, a != b, a<b, a <= b, a> b, a >= b}.at(static_cast<std::size_t>(relation));
  }

  // a < b <= c: c only where a < b.
  Written<Truth> chain(int depth) {
    constexpr std::array<const char*, 6> relations = {"==", "!=", "<", "<=", ">", ">="};
    auto left = number(depth);
    Written<Truth> out{left.text, left.value ? Truth(true) : Truth()};
    const std::int64_t links = pick(1, 3);
    for (std::int64_t i = 0; i < links; ++i) {
      const auto right = number(depth);
      const auto relation = static_cast<int>(pick(0, 5));
      out.text += fmt::format(" {} {}", relations.at(static_cast<std::size_t>(relation)), right.text);
      if (out.value == Truth(true)) {
        out.value = right.value ? Truth(compare(relation, *left.value, *right.value)) : Truth();
      }
      left = right;
    }
    return out;
  }

  Written<Whole> number(int depth) {
    if (depth > 0 && pick(0, 2) > 0) return computed(depth - 1);
    if (pick(0, 1) == 0) {
      const std::int64_t value = pick(0, 20);
      return {std::to_string(value), value};
    }
    const RuleField field = kNumbers.at(static_cast<std::size_t>(pick(0, kNumbers.size() - 1)));
    return {std::string(rule_fields()[static_cast<std::size_t>(field)].name),
            static_cast<std::int64_t>(fields_[field])};
  }

  Written<Whole> computed(int depth) {
    constexpr std::array<const char*, 5> operators = {"+", "-", "*", "//", "%"};
    const auto left = number(depth);
    auto right = number(depth);
    const auto which = static_cast<std::size_t>(pick(0, 4));
    if (which > 2 && right.text.find_first_not_of("0123456789") == std::string::npos) right = {"data", data()};
    std::string text = fmt::format("({} {} {})", left.text, operators.at(which), right.text);
    if (pick(0, 5) == 0) return {"-" + text, negated(apply(which, left.value, right.value))};
    return {std::move(text), apply(which, left.value, right.value)};
  }

  std::int64_t data() const { return static_cast<std::int64_t>(fields_[rule_field("data")]); }
  static Whole negated(Whole value) { return value ? Whole(-*value) : Whole(); }

  static Whole apply(std::size_t which, Whole a, Whole b) {
    if (!a || !b || (which > 2 && *b == 0)) return std::nullopt;
    const std::int64_t quotient = which > 2 ? floor_divide(*a, *b) : 0;
    return std::array<std::int64_t, 5>{*a + *b, *a - *b, *a * *b, quotient, *a - quotient * (which > 2 ? *b : 0)}.at(
        which);
  }

  std::mt19937 random_;
  RuleFields fields_;
};

Truth evaluated(const std::string& text, const RuleFields& fields) {
  const Document document = Document::from_text("rule: \"" + text + "\"\n", "s.yaml");
  const formula::Condition rule = parse_rule(Mapping(Node(document)).require("rule"));
  try {
    return rule.holds(fields.values());
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("10,000 random rules have the value of the tree they were written from") {
  int decided = 0;
  int held = 0;
  for (unsigned seed = 0; seed < 10'000; ++seed) {
    Writer writer(seed);
    const Written<Truth> rule = writer.condition(3);
    if (rule.text.size() > 4096) continue;
    const Truth value = evaluated(rule.text, writer.fields());
    if (value != rule.value) {
      CAPTURE(rule.text);
      CHECK(value == rule.value);
    }
    decided += value ? 1 : 0;
    held += value.value_or(false) ? 1 : 0;
  }
  CHECK(decided > 8'000);
  CHECK(held > 3'000);
  CHECK(decided - held > 3'000);
}
