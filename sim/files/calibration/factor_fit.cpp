#include "calibration/factor_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

using Vector = Eigen::Matrix<double, kTimeFactors, 1>;
using Matrix = Eigen::Matrix<double, kTimeFactors, kTimeFactors>;

// Number of own runs that weighs as much as the prior in the estimate of the scatter of runs. The weight of the prior
// is small: some groups of runs scatter by 1 %, others by 15 %.
constexpr double kRunsOfPrior = 1;
// Groups of many runs count hardly more than groups of few (as in range_fit.cpp).
constexpr double kRunsOfFullWeight = 3;

// The sums over a group that its likelihood needs.
struct Sums {
  double runs = 0;
  double weight = 1;
  Matrix of_squares = Matrix::Zero();
  Vector with_ratios = Vector::Zero();
  double of_ratios = 0;  // squared
};

Vector vector_of(const FactorVector& values) { return Vector(values.data()); }

Sums sums_of(std::span<const FactorSample> samples) {
  Sums out;
  for (const FactorSample& sample : samples) {
    const Vector s = vector_of(sample.sensitivity);
    const double ratio = std::clamp(sample.log_ratio, -std::log(kMostTimesAsLong), std::log(kMostTimesAsLong));
    out.of_squares += s * s.transpose();
    out.with_ratios += s * ratio;
    out.of_ratios += ratio * ratio;
    out.runs += 1;
  }
  out.weight = 1 / (out.runs + kRunsOfFullWeight);
  return out;
}

Matrix precision_of(const FactorVector& deviations) {
  return vector_of(deviations).array().square().inverse().matrix().asDiagonal();
}

// Returns -2 ln of the likelihood of a group, without constants (Woodbury's identity, three factors).
double surprise(const Sums& group, const FactorSpread& spread) {
  const double variance = spread.run * spread.run;
  const Matrix posterior = precision_of(spread.factors) + group.of_squares / variance;
  const Eigen::LLT<Matrix> solved(posterior);
  const double determinant =
      2 * Matrix(solved.matrixL()).diagonal().array().log().sum() + 2 * vector_of(spread.factors).array().log().sum();
  const double explained = group.with_ratios.dot(solved.solve(group.with_ratios)) / variance;
  return group.runs * std::log(variance) + determinant + (group.of_ratios - explained) / variance;
}

double surprise(const std::vector<Sums>& groups, const FactorSpread& spread) {
  double out = 0;
  for (const Sums& group : groups) out += group.weight * surprise(group, spread);
  return out;
}

double dot(const FactorVector& a, const FactorVector& b) { return vector_of(a).dot(vector_of(b)); }

}  // namespace

double FactorEstimate::correction_of(const FactorVector& sensitivity) const { return dot(log_factors, sensitivity); }

double FactorEstimate::deviation_of(const FactorVector& sensitivity) const {
  double variance = run_deviation * run_deviation;
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    for (std::size_t k = 0; k < kTimeFactors; ++k) variance += sensitivity[i] * covariance[i][k] * sensitivity[k];
  }
  return std::sqrt(std::max(0.0, variance));
}

FactorEstimate estimate_factors(std::span<const FactorSample> samples, const FactorSpread& spread) {
  constexpr int kRounds = 5;  // scatter and factors are estimated in turn
  const Sums sums = sums_of(samples);
  double variance = spread.run * spread.run;
  Vector factors;
  Matrix covariance;
  for (int round = 0; round < kRounds; ++round) {
    const Matrix posterior = precision_of(spread.factors) + sums.of_squares / variance;
    covariance = posterior.llt().solve(Matrix::Identity());
    factors = covariance * sums.with_ratios / variance;
    const double left = sums.of_ratios - 2 * factors.dot(sums.with_ratios) + factors.dot(sums.of_squares * factors);
    const double fitted = (covariance * sums.of_squares).trace() / variance;  // number of runs that the factors use up
    variance = (kRunsOfPrior * spread.run * spread.run + std::max(0.0, left)) /
               (kRunsOfPrior + std::max(0.0, sums.runs - fitted));
  }
  FactorEstimate out;
  out.run_deviation = std::sqrt(variance);
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    out.log_factors[i] = factors(row);
    for (std::size_t k = 0; k < kTimeFactors; ++k) out.covariance[i][k] = covariance(row, static_cast<Eigen::Index>(k));
  }
  return out;
}

FactorSpread fit_factor_spread(std::span<const std::vector<FactorSample>> groups) {
  constexpr double kSmallest = 0.005;
  constexpr double kLargest = 1;
  constexpr double kFirstStep = 2;
  constexpr double kLastStep = 1.005;
  std::vector<Sums> sums;
  for (const std::vector<FactorSample>& group : groups) sums.push_back(sums_of(group));
  FactorSpread best;
  best.factors.fill(0.1);
  best.run = 0.1;
  double least = surprise(sums, best);
  // Each of the four deviations is varied in turn, up and down, by ever smaller steps.
  for (double step = kFirstStep; step > kLastStep;) {
    bool better = false;
    for (std::size_t i = 0; i <= kTimeFactors; ++i) {
      for (const double by : {step, 1 / step}) {
        FactorSpread trial = best;
        double& value = i < kTimeFactors ? trial.factors[i] : trial.run;
        value = std::clamp(value * by, kSmallest, kLargest);
        const double found = surprise(sums, trial);
        if (found >= least) continue;
        best = trial;
        least = found;
        better = true;
      }
    }
    if (!better) step = std::sqrt(step);
  }
  return best;
}

OwnRunsJudgement judge_own_runs(const std::vector<FactorSample>& group, int own, const FactorSpread& spread) {
  const auto runs = static_cast<int>(group.size());
  std::vector<FactorSample> known;
  std::vector<FactorSample> others;
  int next = 0;  // index of the next own run: own runs are the first of `own` equal stretches
  for (int i = 0; i < runs; ++i) {
    const bool is_own = next < own && i == next * runs / own;
    (is_own ? known : others).push_back(group[static_cast<std::size_t>(i)]);
    if (is_own) ++next;
  }
  const FactorEstimate estimate = estimate_factors(known, spread);
  OwnRunsJudgement out;
  out.own = own;
  out.judged = static_cast<int>(others.size());
  for (const FactorSample& sample : others) {
    const double deviation = estimate.deviation_of(sample.sensitivity);
    const double left = sample.log_ratio - estimate.correction_of(sample.sensitivity);
    out.error_before += std::abs(std::exp(-sample.log_ratio) - 1) / out.judged;
    out.error_after += std::abs(std::exp(-left) - 1) / out.judged;
    out.standardized.push_back(std::abs(left) / deviation);
    out.coverage += (out.standardized.back() <= spread.quantile ? 1.0 : 0.0) / out.judged;
    out.mean_width += 2 * std::sinh(spread.quantile * deviation) / out.judged;
  }
  return out;
}

TimeFactors time_factors_of(const FactorEstimate& estimate) {
  TimeFactors out;
  for (std::size_t i = 0; i < kTimeFactors; ++i) out.*kTimeFactorKeys[i].value = std::exp(estimate.log_factors[i]);
  return out;
}

}  // namespace mirfak
