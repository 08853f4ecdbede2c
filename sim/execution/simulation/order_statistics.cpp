#include "simulation/order_statistics.hpp"

#include "base/averages.hpp"

#include <boost/math/distributions/binomial.hpp>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kMissed = 0.025;  // probability on each side

}  // namespace

SampleQuantile sample_quantile(std::span<const double> samples, double share) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  SampleQuantile out;
  out.share = share;
  out.value = sorted[static_cast<std::size_t>(std::clamp(std::ceil(share * count) - 1, 0.0, count - 1))];
  // The number of samples below the quantile is binomial. Boost rounds quantiles away from the middle.
  const boost::math::binomial below(count, share);
  double low = boost::math::quantile(below, kMissed);  // P(fewer than `low` samples lie below) <= kMissed
  while (low < count && boost::math::cdf(below, low) <= kMissed) ++low;
  double high = boost::math::quantile(boost::math::complement(below, kMissed)) + 1;  // P(`high` or more) <= kMissed
  while (high >= 2 && boost::math::cdf(boost::math::complement(below, high - 2)) <= kMissed) --high;
  if (low >= 1) out.low = sorted[static_cast<std::size_t>(low) - 1];
  if (high <= count) out.high = sorted[static_cast<std::size_t>(high) - 1];
  return out;
}

double sample_deviation(std::span<const double> samples) {
  if (samples.size() < 2) return 0;
  const double average = mean(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - average) * (sample - average);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

SampleMean sample_mean(std::span<const double> samples, bool pairs) {
  const double average = mean(samples);
  if (!pairs) return {average, sample_deviation(samples) / std::sqrt(static_cast<double>(samples.size()))};
  std::vector<double> means;
  for (std::size_t i = 0; i < samples.size(); i += 2) {
    means.push_back(i + 1 < samples.size() ? (samples[i] + samples[i + 1]) / 2 : samples[i]);
  }
  return {average, sample_deviation(means) / std::sqrt(static_cast<double>(means.size()))};
}

}  // namespace mirfak
