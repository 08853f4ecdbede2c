// Percentiles of samples of known distributions.

#include "simulation/order_statistics.hpp"
#include "base/random.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace mirfak;

TEST_CASE("a percentile lies between its bounds in 95 % of experiments at least") {
  constexpr int experiments = 400;
  for (const double share : {0.5, 0.95, 0.99}) {
    int inside = 0;
    for (std::uint32_t experiment = 0; experiment < experiments; ++experiment) {
      std::vector<double> samples;
      for (std::uint32_t i = 0; i < 500; ++i)
        samples.push_back(std::exp(normal_quantile(uniform({7, i, experiment, 0}))));
      const SampleQuantile of = sample_quantile(samples, share);
      const double expected = std::exp(normal_quantile(share));
      inside += (!of.low || *of.low <= expected) && (!of.high || expected <= *of.high) ? 1 : 0;
    }
    INFO(share);
    CHECK(inside >= 0.93 * experiments);  // 95 %, less two deviations of this count
  }
}

TEST_CASE("bounds that samples cannot give are none") {
  const std::vector<double> few{3, 1, 2};
  CHECK(sample_quantile(few, 0.5).value == 2);
  CHECK(!sample_quantile(few, 0.5).low);
  CHECK(!sample_quantile(few, 0.5).high);
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i) hundred.push_back(i);
  const SampleQuantile median = sample_quantile(hundred, 0.5);
  CHECK(median.value == 50);
  CHECK(median.low.value() == 40);
  CHECK(median.high.value() == 61);
  CHECK(sample_quantile(hundred, 0.99).value == 99);
  CHECK(!sample_quantile(hundred, 0.99).high);
}

TEST_CASE("the error of a mean counts what is independent") {
  CHECK(sample_mean(std::vector<double>{1, 3, 1, 3}, true).error == 0);
  CHECK(sample_mean(std::vector<double>{1, 3, 1, 3}, false).error == doctest::Approx(std::sqrt(4.0 / 3) / 2));
  CHECK(sample_mean(std::vector<double>{5}, true).value == 5);
}
