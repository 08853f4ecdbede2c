#pragma once

#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// Estimate from samples of the value below which a share of a distribution lies.
struct SampleQuantile {
  double share = 0;
  double value = 0;  // the smallest sample that is not less than this share of the samples
  // Ends of the range that contains the value in 95 % of such experiments, whatever the distribution: order statistics
  // whose ranks follow from the binomial distribution (H. A. David, H. N. Nagaraja, Order Statistics, 2003, 7.1).
  // nullopt: too few samples.
  std::optional<double> low;
  std::optional<double> high;
};

// Samples may be in any order; at least one is needed. 0 < share < 1.
SampleQuantile sample_quantile(std::span<const double> samples, double share);

struct SampleMean {
  double value = 0;
  double error = 0;  // one standard deviation; 0 for a single sample
};

// `pairs`: neighbours are not independent, only pairs of neighbours are; a last sample without a partner counts as a
// pair.
SampleMean sample_mean(std::span<const double> samples, bool pairs);
double sample_deviation(std::span<const double> samples);

}  // namespace mirfak
