#pragma once

#include <cmath>

namespace mirfak {

// The share of what a kernel moves that it finds in the second-level cache: 1 / (1 + fullness^6), where `fullness` is
// what it moves over what the cache holds. The 6 says how suddenly tensors stop fitting.
inline double share_in_cache(double fullness) {
  constexpr double kSharpness = 6;
  return 1 / (1 + std::pow(fullness, kSharpness));
}

}  // namespace mirfak
