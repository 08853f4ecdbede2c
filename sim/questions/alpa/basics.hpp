#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace mirfak::alpa {

// Seconds of something that is impossible.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

template <typename T>
bool has(const std::vector<T>& values, T value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace mirfak::alpa
