// Time factors from how far predictions are off: what many runs tell exactly, what few tell, and what none tell.

#include "calibration/factor_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace mirfak;

namespace {

const FactorSpread kSpread{{0.1, 0.3, 0.4}, 0.05, 1.28};

// A run of which kernels, communication and the host take these shares.
FactorSample run_of(const FactorVector& shares, const FactorVector& log_factors, double noise = 0) {
  FactorSample out{shares, noise};
  for (std::size_t i = 0; i < kTimeFactors; ++i) out.log_ratio += shares[i] * log_factors[i];
  return out;
}

FactorVector random_shares(std::mt19937& random) {
  std::uniform_real_distribution<double> part(0, 1);
  FactorVector out{2 * part(random), part(random), part(random)};
  const double sum = out[0] + out[1] + out[2];
  for (double& share : out) share /= sum;
  return out;
}

// Groups whose machines vary by `spread`, and their runs too.
std::vector<std::vector<FactorSample>> random_groups(int groups, int runs, const FactorSpread& spread) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<std::vector<FactorSample>> out;
  for (int group = 0; group < groups; ++group) {
    FactorVector factors{};
    for (std::size_t i = 0; i < kTimeFactors; ++i) factors[i] = spread.factors[i] * normal(random);
    out.emplace_back();
    for (int run = 0; run < runs; ++run) {
      out.back().push_back(run_of(random_shares(random), factors, spread.run * normal(random)));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("without runs nothing is corrected, and all is as uncertain as machines are") {
  const FactorEstimate estimate = estimate_factors({}, kSpread);
  CHECK(estimate.log_factors == FactorVector{});
  CHECK(estimate.run_deviation == doctest::Approx(kSpread.run));
  CHECK(estimate.deviation_of({1, 0, 0}) == doctest::Approx(std::hypot(0.1, 0.05)));
  CHECK(estimate.correction_of({1, 1, 1}) == 0);
}

TEST_CASE("many runs of different shares tell the three factors") {
  std::mt19937 random(3);
  const FactorVector truth{0.08, -0.2, 0.5};
  std::vector<FactorSample> runs;
  for (int i = 0; i < 400; ++i) runs.push_back(run_of(random_shares(random), truth));
  const FactorEstimate estimate = estimate_factors(runs, kSpread);
  for (std::size_t i = 0; i < kTimeFactors; ++i)
    CHECK(estimate.log_factors[i] == doctest::Approx(truth[i]).epsilon(0.02));
  CHECK(estimate.run_deviation < 0.2 * kSpread.run);
}

TEST_CASE("few runs are shrunk towards the profile, more runs less") {
  double before = 0;
  for (const int runs : {1, 3, 10, 100}) {
    const std::vector<FactorSample> alike(static_cast<std::size_t>(runs), run_of({1, 0, 0}, {0.1, 0, 0}));
    const FactorEstimate estimate = estimate_factors(alike, kSpread);
    CHECK(estimate.log_factors[0] > before);
    CHECK(estimate.log_factors[0] < 0.1);
    before = estimate.log_factors[0];
  }
  CHECK(before == doctest::Approx(0.1).epsilon(0.01));
}

TEST_CASE("what no run shows stays as it is, and as uncertain") {
  const std::vector<FactorSample> runs(20, run_of({0.9, 0.1, 0}, {0.05, 0.05, 0}));
  const FactorEstimate estimate = estimate_factors(runs, kSpread);
  CHECK(estimate.log_factors[2] == 0);
  CHECK(estimate.covariance[2][2] == doctest::Approx(0.4 * 0.4));
  CHECK(estimate.covariance[0][1] < 0);  // more of one would be less of the other
}

TEST_CASE("one run that took twenty times as long counts as one that took twice as long") {
  const auto with = [](double ratio) {
    std::vector<FactorSample> runs(5, run_of({1, 0, 0}, {0, 0, 0}));
    runs.push_back({{1, 0, 0}, std::log(ratio)});
    return estimate_factors(runs, kSpread).log_factors[0];
  };
  CHECK(with(20) == with(2));
}

TEST_CASE("the spread of machines and runs is found again") {
  const FactorSpread found = fit_factor_spread(random_groups(300, 20, kSpread));
  for (std::size_t i = 0; i < kTimeFactors; ++i)
    CHECK(found.factors[i] == doctest::Approx(kSpread.factors[i]).epsilon(0.15));
  CHECK(found.run == doctest::Approx(kSpread.run).epsilon(0.05));
}

TEST_CASE("three own runs bring the others nearer, and ranges hold what they promise") {
  double before = 0;
  double after = 0;
  double coverage = 0;
  const auto groups = random_groups(200, 20, kSpread);
  for (const std::vector<FactorSample>& group : groups) {
    const OwnRunsJudgement judged = judge_own_runs(group, 3, kSpread);
    CHECK(judged.judged == 17);
    before += judged.error_before / static_cast<double>(groups.size());
    after += judged.error_after / static_cast<double>(groups.size());
    coverage += judged.coverage / static_cast<double>(groups.size());
  }
  CHECK(after < 0.6 * before);
  CHECK(coverage > 0.7);
  CHECK(coverage < 0.85);
}
