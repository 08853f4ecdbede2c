#pragma once

#include <span>
#include <vector>

namespace mirfak {

// A predicted and a measured time, both in seconds and positive.
struct PredictedPair {
  double predicted = 0;
  double measured = 0;

  double error() const { return predicted / measured - 1; }  // positive: the prediction is too slow
};

// Statistics of the errors of predictions against measurements. Errors are shares of the measured value, not percent; 0
// for an empty set.
struct ErrorStatistics {
  int count = 0;
  double mape = 0;        // mean absolute error
  double median_ape = 0;  // for an even count the mean of the two middle values
  double p90_ape = 0;     // 90th percentile, interpolated linearly
  double mean_error = 0;  // signed
  double spearman = 0;    // rank correlation, equal values share their mean rank; 0 below two different values
};
ErrorStatistics error_statistics(std::span<const PredictedPair> pairs);

// Returns Spearman's rank correlation of `pairs`; see ErrorStatistics::spearman.
double rank_correlation(std::span<const PredictedPair> pairs);

}  // namespace mirfak
