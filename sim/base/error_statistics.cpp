#include "base/error_statistics.hpp"

#include "base/averages.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace mirfak {

namespace {

// Returns ranks from 0; equal values get the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = static_cast<double>(first + end - 1) / 2;
    first = end;
  }
  return ranks;
}

}  // namespace

double rank_correlation(std::span<const PredictedPair> pairs) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const PredictedPair& pair : pairs) {
    predicted.push_back(pair.predicted);
    measured.push_back(pair.measured);
  }
  const std::vector<double> a = ranks_of(predicted);
  const std::vector<double> b = ranks_of(measured);
  const double mean = (static_cast<double>(pairs.size()) - 1) / 2;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

ErrorStatistics error_statistics(std::span<const PredictedPair> pairs) {
  ErrorStatistics out;
  out.count = static_cast<int>(pairs.size());
  if (pairs.empty()) return out;
  std::vector<double> absolute;
  for (const PredictedPair& pair : pairs) {
    absolute.push_back(std::abs(pair.error()));
    out.mean_error += pair.error() / static_cast<double>(pairs.size());
  }
  out.mape = mean(absolute);
  std::sort(absolute.begin(), absolute.end());
  out.median_ape = interpolated_quantile(absolute, 0.5);
  out.p90_ape = interpolated_quantile(absolute, 0.9);
  out.spearman = rank_correlation(pairs);
  return out;
}

}  // namespace mirfak
