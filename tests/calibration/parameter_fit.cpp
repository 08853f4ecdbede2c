#include "calibration/parameter_fit.hpp"

#include "base/error.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace mirfak;

namespace {

// a + b x at x = 1 ... 60, measured with a = 3, b = 0.5.
FitProblem line(double outlier_factor = 1) {
  FitProblem problem;
  problem.unknowns = {{"a", 1, 0, 10}, {"b", 2, 0.01, 5}};
  for (int x = 1; x <= 60; ++x) {
    problem.measured.push_back((3 + 0.5 * x) * (x % 20 == 0 ? outlier_factor : 1));
    problem.keys.push_back("x=" + std::to_string(x));
  }
  problem.predict = [](std::span<const double> values, std::span<const std::size_t> samples,
                       std::span<double> predicted) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      predicted[i] = values[0] + values[1] * static_cast<double>(samples[i] + 1);
    }
  };
  return problem;
}

}  // namespace

TEST_CASE("exact measurements give back the constants behind them") {
  const ParameterFit fit = fit_parameters(line());
  CHECK(fit.values[0] == doctest::Approx(3).epsilon(1e-5));
  CHECK(fit.values[1] == doctest::Approx(0.5).epsilon(1e-5));
}

TEST_CASE("a third is held out, and every sample is on one side") {
  const ParameterFit fit = fit_parameters(line());
  CHECK(fit.fitted.size() + fit.held_out.size() == 60);
  CHECK(fit.held_out.size() >= 10);
  CHECK(fit.held_out.size() <= 30);
  for (const std::size_t sample : fit.held_out_samples) CHECK(is_held_out("x=" + std::to_string(sample + 1)));
  for (const std::size_t sample : fit.fitted_samples) CHECK_FALSE(is_held_out("x=" + std::to_string(sample + 1)));
}

TEST_CASE("held-out measurements have no part in the fit") {
  FitProblem problem = line();
  for (std::size_t i = 0; i < problem.measured.size(); ++i) {
    if (is_held_out(problem.keys[i])) problem.measured[i] *= 100;
  }
  CHECK(fit_parameters(problem).values == fit_parameters(line()).values);
}

TEST_CASE("a few measurements far off move the constants little") {
  // Three of sixty are five times too long. Squared, they would count as (log 5 / 0.05)^2 = 1000 errors of 5 %.
  const ParameterFit fit = fit_parameters(line(5));
  CHECK(fit.values[1] == doctest::Approx(0.5).epsilon(0.03));
}

TEST_CASE("constants stay within their ranges") {
  FitProblem problem = line();
  problem.unknowns[1].maximum = 0.4;
  problem.unknowns[1].start = 0.2;
  const ParameterFit fit = fit_parameters(problem);
  CHECK(fit.values[1] <= 0.4);
  CHECK(fit.values[1] > 0.39);
}

TEST_CASE("fewer measurements than constants are refused") {
  FitProblem problem = line();
  problem.measured.resize(1);
  problem.keys.resize(1);
  CHECK_THROWS_WITH_AS(fit_parameters(problem), doctest::Contains("too few"), Error);
}
