#include "cluster/profiles.hpp"

namespace mirfak {

namespace {

// Limits beyond which something other than a figure of the models is wrong.
constexpr double kSmallestFactor = 0.2;
constexpr double kLargestFactor = 5;
constexpr double kLargestDeviation = 3;

std::vector<double> numbers(const Node& node, double minimum, double maximum) {
  const std::vector<Node> items = node.as_items();
  if (items.size() != kTimeFactors) node.fail("expected three numbers, found " + node.described());
  std::vector<double> out;
  for (const Node& item : items) out.push_back(item.as_number(minimum, maximum));
  return out;
}

}  // namespace

Correction read_correction(ProfileFile& file) {
  Mapping section(file.root().require("correction"));
  Correction out;
  for (const TimeFactor& factor : kTimeFactorKeys) {
    const Figure figure = file.figure(section, factor.key, kSmallestFactor, kLargestFactor);
    out.factors.*factor.value = figure.value;
    out.source = figure.source;
  }
  out.framework = section.require("framework").as_string();
  out.run_deviation = section.require("run_deviation").as_number(0, kLargestDeviation);
  const std::vector<double> deviations = numbers(section.require("deviations"), 0, kLargestDeviation);
  const std::vector<double> correlations = numbers(section.require("correlations"), -1, 1);
  std::size_t pair = 0;
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    out.covariance[i][i] = deviations[i] * deviations[i];
    for (std::size_t k = i + 1; k < kTimeFactors; ++k, ++pair) {
      out.covariance[i][k] = out.covariance[k][i] = correlations[pair] * deviations[i] * deviations[k];
    }
  }
  section.finish();
  return out;
}

}  // namespace mirfak
