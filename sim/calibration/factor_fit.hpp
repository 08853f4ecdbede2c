#pragma once

#include "cluster/time_factors.hpp"
#include "cost/range_widths.hpp"

#include <span>
#include <vector>

namespace mirfak {

// A measurement beyond so many times the prediction, or below its inverse, says that something else is wrong than what
// factors correct: it counts as if it lay there.
inline constexpr double kMostTimesAsLong = 2;

// One measured run: how far off its prediction is, and how that follows the logarithm of each time factor
// (simulation/time_factors.hpp).
struct FactorSample {
  FactorVector sensitivity{};
  double log_ratio = 0;  // ln(measured / predicted)
};

// Which time factors runs of one machine and framework tell.
struct FactorEstimate {
  FactorVector log_factors{};
  FactorMatrix covariance{};
  double run_deviation = 0;  // standard deviation of log_ratio from run to run, the factors apart

  double correction_of(const FactorVector& sensitivity) const;  // ln of what a prediction is multiplied by
  double deviation_of(const FactorVector& sensitivity) const;   // of a single measurement around it
};

// Linear regression of the log ratios on the sensitivities with a normal prior around 0, no correction, whose
// deviations are `spread`: the fewer runs, the more is left as predicted (Hoerl and Kennard, "Ridge regression",
// Technometrics 12, 1970). The scatter of runs is that of `spread`, until there are enough to show their own.
FactorEstimate estimate_factors(std::span<const FactorSample> samples, const FactorSpread& spread);

// The deviations with which the time factors of groups of runs vary, and runs within a group: maximum likelihood of
// normal distributions. Groups count nearly alike, however many runs they have. The quantile is left as it is.
FactorSpread fit_factor_spread(std::span<const std::vector<FactorSample>> groups);

// Of a group's runs some are one's own, and predict the others.
struct OwnRunsJudgement {
  int own = 0;
  int judged = 0;           // other runs
  double error_before = 0;  // mean absolute errors of these
  double error_after = 0;
  double coverage = 0;               // share of them within the range around what is predicted
  double mean_width = 0;             // of the ranges, as shares of the prediction
  std::vector<double> standardized;  // |ln(measured / predicted)| of each, over its deviation
};
// `own` runs, evenly spread over the group, which has more.
OwnRunsJudgement judge_own_runs(const std::vector<FactorSample>& group, int own, const FactorSpread& spread);

}  // namespace mirfak
