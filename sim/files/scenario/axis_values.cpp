#include "scenario/axis_values.hpp"

#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace mirfak {

namespace {

constexpr double kExact = 9007199254740992;  // 2^53: below this value, every whole number is a double
constexpr double kSlack = 1e-9;              // share of a step: an end that is missed only by rounding counts as met

std::optional<double> as_number(const Value& value) {
  if (value.kind != Value::Kind::scalar || value.quoted || value.scalar.empty()) return std::nullopt;
  const std::string& text = value.scalar;
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data() + (plus ? 1 : 0), text.data() + text.size(), number);
  const bool whole = error == std::errc() && stop == text.data() + text.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<bool> as_boolean(const Value& value) {
  if (value.kind != Value::Kind::scalar || value.quoted) return std::nullopt;
  const std::string& word = value.scalar;
  if (word == "true" || word == "True" || word == "TRUE") return true;
  if (word == "false" || word == "False" || word == "FALSE") return false;
  return std::nullopt;
}

bool is_integer(const Value& value) {
  const std::optional<double> number = as_number(value);
  return number && *number == std::floor(*number) && std::abs(*number) <= kExact;
}

// Writes whole numbers without an exponent; other numbers with as many digits as are not rounding noise.
std::string written(double number) {
  if (number == std::floor(number) && std::abs(number) <= kExact) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  return fmt::format("{:.15g}", number);
}

// Numbers of a range: from + i step, or from factor^i.
struct Range {
  double from = 0;
  double to = 0;
  double change = 0;
  bool geometric = false;

  double at(std::int64_t index) const {
    const auto i = static_cast<double>(index);
    return geometric ? from * std::pow(change, i) : from + i * change;
  }
  double steps() const { return geometric ? std::log(to / from) / std::log(change) : (to - from) / change; }
};

Range read_range(const Node& node) {
  constexpr double most = 1e30;
  Mapping in(node);
  Range range;
  range.from = in.require("from").as_number(-most, most);
  range.to = in.require("to").as_number(-most, most);
  const std::optional<Node> step = in.find("step");
  const std::optional<Node> factor = in.find("factor");
  in.finish();
  if (step.has_value() == factor.has_value()) {
    node.fail("expected a range with either a step or a factor",
              "{from: 1, to: 8, step: 1} or {from: 1, to: 64, factor: 2}");
  }
  range.geometric = factor.has_value();
  range.change = (step ? *step : *factor).as_number(-most, most);
  if (step && range.change == 0) step->fail("expected a step that is not 0");
  if (factor && (range.change <= 0 || range.change == 1)) factor->fail("expected a factor above 0 that is not 1");
  if (factor && range.from * range.to <= 0) node.fail("a range with a factor cannot reach or cross 0");
  return range;
}

std::vector<Value> range_values(const Node& node) {
  const Range range = read_range(node);
  const double steps = range.steps() + kSlack;
  if (steps < 0) {
    node.fail(
        fmt::format("this range starts at {} and moves away from {}", written(range.from), written(range.to)),
        range.geometric ? "a factor above 1 grows, one below 1 shrinks" : "a step above 0 grows, one below 0 shrinks");
  }
  if (steps >= static_cast<double>(kMaxAxisValues)) {
    node.fail(fmt::format("a range of more than {} values", kMaxAxisValues), "choose a larger step");
  }
  std::vector<Value> values(static_cast<std::size_t>(steps) + 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i].kind = Value::Kind::scalar;
    values[i].scalar = written(range.at(static_cast<std::int64_t>(i)));
    values[i].where = node.where();
  }
  return values;
}

}  // namespace

std::vector<Value> read_axis_values(const Node& values) {
  if (values.is_mapping()) return range_values(values);
  if (!values.is_sequence()) {
    values.fail("expected a list of values or a range {from, to, step}, found " + values.described(),
                "a single value belongs under 'set'");
  }
  if (values.value().items.empty()) values.fail("expected at least one value");
  if (static_cast<std::int64_t>(values.value().items.size()) > kMaxAxisValues) {
    values.fail(fmt::format("more than {} values", kMaxAxisValues));
  }
  return values.value().items;
}

AxisType axis_type(const std::vector<Value>& values) {
  const auto all = [&](auto is) { return std::all_of(values.begin(), values.end(), is); };
  if (all(is_integer)) return AxisType::integer;
  if (all([](const Value& value) { return as_number(value).has_value(); })) return AxisType::number;
  if (all([](const Value& value) { return as_boolean(value).has_value(); })) return AxisType::boolean;
  return AxisType::text;
}

std::int64_t integer_of(const Value& value) { return static_cast<std::int64_t>(as_number(value).value_or(0)); }
double number_of(const Value& value) { return as_number(value).value_or(0); }
bool boolean_of(const Value& value) { return as_boolean(value).value_or(false); }

std::string text_of(const Value& value) {
  if (value.kind == Value::Kind::scalar) return value.scalar;
  return value.kind == Value::Kind::null ? std::string() : emit_flow_yaml(value);
}

}  // namespace mirfak
