#pragma once

#include <cmath>

namespace mirfak {

// Returns the share of a kernel's traffic that the second-level cache serves: 1 / (1 + fullness^6), where `fullness` is
// the traffic divided by the size of the cache. The exponent 6 determines how suddenly tensors stop fitting.
inline double share_in_cache(double fullness) {
  constexpr double kSharpness = 6;
  return 1 / (1 + std::pow(fullness, kSharpness));
}

}  // namespace mirfak
