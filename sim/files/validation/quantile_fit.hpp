#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace mirfak {

inline constexpr std::size_t kQuantileFeatures = 5;

// One observation: `value` is compared with the sum of features * coefficients.
struct QuantileSample {
  std::array<double, kQuantileFeatures> features{};
  double value = 0;
  double weight = 1;
};

using QuantileCoefficients = std::array<double, kQuantileFeatures>;

// Linear quantile regression: returns coefficients from 0 to the `largest` of each feature such that, by weight, a
// share `quantile` of the samples lies below their sums. Minimizes the pinball loss by majorization (Hunter and Lange,
// "Quantile regression via an MM algorithm", Journal of Computational and Graphical Statistics 9, 2000).
QuantileCoefficients fit_quantile(const std::vector<QuantileSample>& samples, double quantile,
                                  const QuantileCoefficients& largest);

}  // namespace mirfak
