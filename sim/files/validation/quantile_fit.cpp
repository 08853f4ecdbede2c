#include "validation/quantile_fit.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr int kRounds = 400;
constexpr int kSweeps = 200;
constexpr double kFirstSmoothing = 1e-2;  // width of the rounding of the loss around 0; it shrinks every round
constexpr double kLastSmoothing = 1e-7;
constexpr double kSettled = 1e-12;

using Coefficients = QuantileCoefficients;

double sum_of(const QuantileSample& sample, const Coefficients& coefficients) {
  double sum = 0;
  for (std::size_t i = 0; i < kQuantileFeatures; ++i) sum += sample.features[i] * coefficients[i];
  return sum;
}

// b' A b / 2 - c' b, a function that lies above the loss and touches it at the point of its construction.
struct Quadratic {
  std::array<Coefficients, kQuantileFeatures> a{};
  Coefficients c{};

  void add(const QuantileSample& sample, double curvature, double slope) {
    for (std::size_t i = 0; i < kQuantileFeatures; ++i) {
      for (std::size_t j = 0; j < kQuantileFeatures; ++j) {
        a[i][j] += curvature * sample.features[i] * sample.features[j];
      }
      c[i] += (curvature * sample.value + slope) * sample.features[i];
    }
  }

  // Minimizes coordinate by coordinate, each from 0 to its largest value.
  void minimise(Coefficients& b, const Coefficients& largest) const {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      double moved = 0;
      for (std::size_t i = 0; i < kQuantileFeatures; ++i) {
        if (a[i][i] <= 0) continue;
        double rest = c[i];
        for (std::size_t j = 0; j < kQuantileFeatures; ++j) {
          if (j != i) rest -= a[i][j] * b[j];
        }
        const double best = std::clamp(rest / a[i][i], 0.0, largest[i]);
        moved = std::max(moved, std::abs(best - b[i]));
        b[i] = best;
      }
      if (moved < kSettled) return;
    }
  }
};

}  // namespace

Coefficients fit_quantile(const std::vector<QuantileSample>& samples, double quantile, const Coefficients& largest) {
  Coefficients b{};
  const double shrink = std::pow(kLastSmoothing / kFirstSmoothing, 1.0 / (kRounds - 1));
  double smoothing = kFirstSmoothing;
  for (int round = 0; round < kRounds; ++round, smoothing *= shrink) {
    Quadratic majoriser;
    for (const QuantileSample& sample : samples) {
      const double distance = std::abs(sample.value - sum_of(sample, b));
      // |r| <= r^2 / (2 d) + d / 2, and the loss is |r| / 2 + (quantile - 1/2) r.
      majoriser.add(sample, sample.weight / (2 * (distance + smoothing)), sample.weight * (quantile - 0.5));
    }
    majoriser.minimise(b, largest);
  }
  return b;
}

}  // namespace mirfak
