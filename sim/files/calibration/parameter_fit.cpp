// Levenberg-Marquardt needs an unbounded problem with squared residuals; our problem has ranges and must not be
// distorted by outliers. Both are solved by changes of variable:
//
//   x = minimum + (maximum - minimum) (1 + sin u) / 2       u runs freely while x stays in its range (MINUIT's way)
//   r -> sign(r) sqrt(2 d^2 (sqrt(1 + (r/d)^2) - 1))        squared, this is the pseudo-Huber loss: r^2 near zero,
//                                                           2 d |r| far from it
//
// Residuals are logarithms, so that 10 % too fast on a microsecond counts as much as 10 % on a second.
#include "calibration/parameter_fit.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"
#include "base/fnv_hash.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <unsupported/Eigen/NonLinearOptimization>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mirfak {

namespace {

constexpr double kStep = 1e-3;  // step of a free variable for derivatives: wide, so that kinks of a formula average out

double bounded(const Unknown& unknown, double u) {
  return unknown.minimum + (unknown.maximum - unknown.minimum) * (1 + std::sin(u)) / 2;
}

// The start is kept a hundredth away from both ends: the derivative is zero there and the fit would never leave.
double unbounded(const Unknown& unknown) {
  const double share = (unknown.start - unknown.minimum) / (unknown.maximum - unknown.minimum);
  return std::asin(2 * std::clamp(share, 0.01, 0.99) - 1);
}

double softened(double residual, double outlier) {
  const double ratio = residual / outlier;
  return std::copysign(outlier * std::sqrt(2 * (std::sqrt(1 + ratio * ratio) - 1)), residual);
}

// The functions that Eigen's minimiser needs.
class Residuals {
 public:
  Residuals(const FitProblem& problem, const std::vector<std::size_t>& samples, double outlier)
      : problem_(problem), samples_(samples), outlier_(outlier), predicted_(samples.size()) {}

  int inputs() const { return static_cast<int>(problem_.unknowns.size()); }
  int values() const { return static_cast<int>(samples_.size()); }

  int operator()(const Eigen::VectorXd& free, Eigen::VectorXd& residuals) const {
    check_cancelled();
    ++calls_;
    const std::vector<double> at = constants(free);
    problem_.predict(at, samples_, predicted_);
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const double weight = problem_.weights.empty() ? 1 : std::sqrt(problem_.weights[samples_[i]]);
      residuals[static_cast<Eigen::Index>(i)] =
          weight * softened(std::log(predicted_[i] / problem_.measured[samples_[i]]), outlier_);
    }
    return 0;
  }

  int df(const Eigen::VectorXd& free, Eigen::MatrixXd& derivatives) const {
    Eigen::VectorXd above(values());
    Eigen::VectorXd below(values());
    for (Eigen::Index j = 0; j < free.size(); ++j) {
      Eigen::VectorXd moved = free;
      moved[j] = free[j] + kStep;
      (*this)(moved, above);
      moved[j] = free[j] - kStep;
      (*this)(moved, below);
      derivatives.col(j) = (above - below) / (2 * kStep);
    }
    return 0;
  }

  int calls() const { return calls_; }

  std::vector<double> constants(const Eigen::VectorXd& free) const {
    std::vector<double> out;
    for (std::size_t j = 0; j < problem_.unknowns.size(); ++j) {
      out.push_back(bounded(problem_.unknowns[j], free[static_cast<Eigen::Index>(j)]));
    }
    return out;
  }

 private:
  const FitProblem& problem_;
  const std::vector<std::size_t>& samples_;
  double outlier_;
  mutable std::vector<double> predicted_;
  mutable int calls_ = 0;
};

std::vector<PredictedPair> pairs(const FitProblem& problem, const std::vector<double>& values,
                                 const std::vector<std::size_t>& samples) {
  std::vector<double> predicted(samples.size());
  problem.predict(values, samples, predicted);
  std::vector<PredictedPair> out;
  for (std::size_t i = 0; i < samples.size(); ++i) out.push_back({predicted[i], problem.measured[samples[i]]});
  return out;
}

}  // namespace

bool is_held_out(std::string_view key) {
  return (fnv_hash(kFnvStart, key) >> 32) % 3 == 0;  // the high half: the low bits of FNV mix less
}

ParameterFit evaluate(const FitProblem& problem, std::vector<double> values) {
  ParameterFit out;
  for (std::size_t i = 0; i < problem.measured.size(); ++i) {
    (is_held_out(problem.keys[i]) ? out.held_out_samples : out.fitted_samples).push_back(i);
  }
  out.values = std::move(values);
  out.fitted = pairs(problem, out.values, out.fitted_samples);
  out.held_out = pairs(problem, out.values, out.held_out_samples);
  return out;
}

ParameterFit fit_parameters(const FitProblem& problem, double outlier, int longest) {
  std::vector<std::size_t> samples;
  for (std::size_t i = 0; i < problem.measured.size(); ++i) {
    if (!is_held_out(problem.keys[i])) samples.push_back(i);
  }
  if (samples.size() < problem.unknowns.size()) {
    fail_input({},
               fmt::format("{} measurements are too few to fit {} constants", samples.size(), problem.unknowns.size()));
  }
  Residuals residuals(problem, samples, outlier);
  Eigen::VectorXd free(residuals.inputs());
  for (Eigen::Index j = 0; j < free.size(); ++j) free[j] = unbounded(problem.unknowns[static_cast<std::size_t>(j)]);
  Eigen::LevenbergMarquardt<Residuals> solver(residuals);
  solver.parameters.ftol = solver.parameters.xtol = 1e-5;
  Eigen::LevenbergMarquardtSpace::Status status = solver.minimizeInit(free);
  if (status != Eigen::LevenbergMarquardtSpace::ImproperInputParameters) {
    do {
      status = solver.minimizeOneStep(free);
    } while (status == Eigen::LevenbergMarquardtSpace::Running && residuals.calls() < longest);
  }
  return evaluate(problem, residuals.constants(free));
}

}  // namespace mirfak
