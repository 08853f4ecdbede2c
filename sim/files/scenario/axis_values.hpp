#pragma once

#include "base/document.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

// The narrowest type that fits all values of an axis.
enum class AxisType : std::uint8_t {
  integer,
  number,
  boolean,
  text,  // any value: a word as it is, a list or mapping as YAML on one line
};

inline constexpr std::int64_t kMaxAxisValues = std::int64_t{1} << 16;

// Reads the values that a key of a sweep takes in turn: a list of any values, or a range {from, to, step} or {from, to,
// factor} of numbers that ends at `to` or before it. Values keep their place in the file; values of a range have the
// range's place. Error(input) for an empty list, a range that does not lead from `from` to `to`, and more than
// kMaxAxisValues values.
std::vector<Value> read_axis_values(const Node& values);

AxisType axis_type(const std::vector<Value>& values);

// Returns a value as a column of the function's type holds it.
std::int64_t integer_of(const Value& value);
double number_of(const Value& value);
bool boolean_of(const Value& value);
std::string text_of(const Value& value);

}  // namespace mirfak
