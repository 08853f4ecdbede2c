#pragma once

#include "cluster/time_factors.hpp"
#include "cost/range_widths.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Limit of the ratio of measured to predicted time, and of its inverse: a measurement beyond this limit has another
// cause than the time factors correct, and counts as if it lay at the limit.
inline constexpr double kMostTimesAsLong = 2;

// One measured run: the error of its prediction, and the derivative of the logarithm of the prediction for each time
// factor's logarithm (simulation/time_factors.hpp).
struct FactorSample {
  FactorVector sensitivity{};
  double log_ratio = 0;  // ln(measured / predicted)
};

// The time factors that the runs of one machine and framework determine.
struct FactorEstimate {
  FactorVector log_factors{};
  FactorMatrix covariance{};
  double run_deviation = 0;  // standard deviation of log_ratio from run to run, without the factors

  double correction_of(const FactorVector& sensitivity) const;  // ln of the factor on a prediction
  double deviation_of(const FactorVector& sensitivity) const;   // deviation of one measurement from the corrected value
};

// Linear regression of the log ratios on the sensitivities with a normal prior around 0, which means no correction,
// with the deviations `spread`: the fewer runs, the smaller the correction (Hoerl and Kennard, "Ridge regression",
// Technometrics 12, 1970). The scatter of runs is that of `spread` until there are enough runs to determine their own.
FactorEstimate estimate_factors(std::span<const FactorSample> samples, const FactorSpread& spread);
TimeFactors time_factors_of(const FactorEstimate& estimate);

// Fits the deviations of the time factors between groups of runs, and of runs within a group: maximum likelihood of
// normal distributions. Groups count nearly alike, however many runs they have. The quantile keeps its default.
FactorSpread fit_factor_spread(std::span<const std::vector<FactorSample>> groups);

// Judgement of a group in which some runs are the user's own and predict the other runs.
struct OwnRunsJudgement {
  int own = 0;
  int judged = 0;           // number of other runs
  double error_before = 0;  // mean absolute error of the other runs before correction
  double error_after = 0;
  double coverage = 0;               // share of the other runs within the range around the corrected prediction
  double mean_width = 0;             // mean width of the ranges, as shares of the prediction
  std::vector<double> standardized;  // |ln(measured / predicted)| of each other run, over its deviation
};
// Takes `own` runs, evenly spread over the group, as own runs; the group has more runs than `own`.
OwnRunsJudgement judge_own_runs(const std::vector<FactorSample>& group, int own, const FactorSpread& spread);

}  // namespace mirfak
