#pragma once

#include <span>
#include <vector>

namespace mirfak {

// Measured against predicted, both in seconds and positive.
struct PredictedPair {
  double predicted = 0;
  double measured = 0;

  double error() const { return predicted / measured - 1; }  // positive: predicted too slow
};

// How well predictions meet measurements. Shares of the measured value, not percent; 0 for an empty set.
struct ErrorStatistics {
  int count = 0;
  double mape = 0;        // mean absolute error
  double median_ape = 0;  // of an even count the mean of the two in the middle
  double p90_ape = 0;     // 90th percentile, between two values in proportion
  double mean_error = 0;  // signed
  double spearman = 0;    // rank correlation, equal values share their mean rank; 0 below two different values
};
ErrorStatistics error_statistics(std::span<const PredictedPair> pairs);

// Spearman's coefficient of `pairs`; see ErrorStatistics::spearman.
double rank_correlation(std::span<const PredictedPair> pairs);

}  // namespace mirfak
