#pragma once

#include "base/error_statistics.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A constant to be fitted, between `minimum` and `maximum`; the fit begins at `start`.
struct Unknown {
  std::string name;
  double start = 0;
  double minimum = 0;
  double maximum = 1;
};

// A formula with unknown constants, and the measurements that it should match.
struct FitProblem {
  std::vector<Unknown> unknowns;
  std::vector<double> measured;   // seconds (or any positive quantity), one per sample
  std::vector<std::string> keys;  // the measurement's key, "m=1024 n=4096 k=4096": decides whether it is held out
  std::vector<double> weights;    // weights of the squared errors; empty: all equal

  // Writes the formula's values for the samples `samples` (indices into `measured`) to `predicted`, in their order.
  // `values` are the values of `unknowns`. Called some hundred times.
  std::function<void(std::span<const double> values, std::span<const std::size_t> samples, std::span<double> predicted)>
      predict;
};

// True if a measurement is held out: a third of all keys, by a hash that is the same on every machine. Measurements
// with equal keys are either all held out or all fitted.
bool is_held_out(std::string_view key);

struct ParameterFit {
  std::vector<double> values;           // values of the unknowns
  std::vector<PredictedPair> fitted;    // the fitted samples, in their order
  std::vector<PredictedPair> held_out;  // the held-out samples
  std::vector<std::size_t> fitted_samples;
  std::vector<std::size_t> held_out_samples;
};

// Fits by least squares of log(predicted / measured) over the samples that are not held out, by Levenberg and
// Marquardt's method (Eigen), each unknown kept within its range. Errors beyond `outlier` count in proportion instead
// of squared (pseudo-Huber), so that a few strange measurements do not distort the fit. The result does not depend on
// the order of the samples and is the same on every run; `longest` bounds the calls of `predict`. Error(input) if fewer
// samples than unknowns are left.
ParameterFit fit_parameters(const FitProblem& problem, double outlier = 0.05, int longest = 1000);

// Evaluates the formula with `values` on all samples.
ParameterFit evaluate(const FitProblem& problem, std::vector<double> values);

}  // namespace mirfak
