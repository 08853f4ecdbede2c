#include "validation/own_runs.hpp"

#include "base/error.hpp"
#include "base/yaml.hpp"
#include "simulation/iteration.hpp"
#include "simulation/time_factors.hpp"

#include <fmt/format.h>

#include <cmath>

namespace mirfak {

namespace {

struct KnownRun {
  const ValidatedRun* run;
  FactorSample sample;

  const Job& job() const { return run->simulated_scenario->job; }
  const NodeSpec& node() const { return job().cluster.groups().front().hardware.spec; }
};

void check_alike(const ValidatedRun& run, const ValidatedRun& first) {
  constexpr const char* kHint = "leave out the other runs (--only COLUMN=VALUE), and calibrate those by themselves";
  if (run.machine.empty())
    fail_input(run.run.where, "this run is on several types of nodes, which it cannot tell apart");
  if (run.machine != first.machine) {
    fail_input(run.run.where, fmt::format("this run is on {}, those before it on {}", run.machine, first.machine),
               kHint);
  }
  if (run.framework != first.framework) {
    fail_input(run.run.where,
               fmt::format("this run is under {}, those before it under {}", run.framework, first.framework), kHint);
  }
}

std::vector<KnownRun> known_runs(std::span<const ValidatedRun> runs) {
  std::vector<KnownRun> out;
  for (const ValidatedRun& run : runs) {
    if (!run.scored()) continue;
    check_alike(run, out.empty() ? run : *out.front().run);
    out.push_back({&run, {run.time_sensitivities.value(), std::log(run.seconds.measured / run.seconds.predicted)}});
  }
  if (out.empty()) {
    fail_input({}, "no run of the table could be simulated and was measured", "`mirfak validate` says of each row why");
  }
  if (out.front().node().correction) {
    fail_input(out.front().run->run.where, fmt::format("{} is corrected by runs already", out.front().run->machine),
               "name the node type that it is like");
  }
  return out;
}

double predicted_with(const KnownRun& run, const TimeFactors& factors) {
  return simulate(with_time_factors(run.job(), factors)).result.iteration_time_s;
}

std::vector<FactorSample> samples_of(const std::vector<KnownRun>& runs) {
  std::vector<FactorSample> out;
  for (const KnownRun& run : runs) out.push_back(run.sample);
  return out;
}

// Estimates the factors. Sensitivities hold only near the point at which they were taken: a simulation with the
// estimate shows the error beyond them, and shifts the ratios to explain (Gauss-Newton method with constant slopes).
FactorEstimate estimate_of(std::vector<KnownRun>& runs, const FactorSpread& spread) {
  constexpr int kRounds = 3;
  FactorEstimate estimate = estimate_factors(samples_of(runs), spread);
  for (int round = 1; round < kRounds; ++round) {
    for (KnownRun& known : runs) {
      const double predicted_s = predicted_with(known, time_factors_of(estimate));
      known.sample.log_ratio =
          std::log(known.run->seconds.measured / predicted_s) + estimate.correction_of(known.sample.sensitivity);
    }
    estimate = estimate_factors(samples_of(runs), spread);
  }
  return estimate;
}

double left_out_s(const std::vector<KnownRun>& runs, std::size_t index, const FactorSpread& spread) {
  std::vector<FactorSample> others = samples_of(runs);
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(index));
  return predicted_with(runs[index], time_factors_of(estimate_factors(others, spread)));
}

double mean_error(const std::vector<OwnRun>& runs, double OwnRun::*predicted) {
  double sum = 0;
  for (const OwnRun& run : runs) sum += std::abs(run.*predicted / run.measured_s - 1);
  return sum / static_cast<double>(runs.size());
}

}  // namespace

std::string node_type_of(const Scenario& scenario) {
  const Value& type = *scenario.completed.find("cluster")->find("nodes")->items.front().find("type");
  if (type.kind == Value::Kind::scalar) return type.scalar;
  fail_input({"cluster.nodes[0].type", 0, 0},
             "a correction is of a node type that has a name or a file, this one is stated in place",
             "write its keys in a file, and name the file as cluster.nodes[0].type");
}

double OwnRunsFit::error_before() const { return mean_error(runs, &OwnRun::predicted_s); }
double OwnRunsFit::error_left_out() const { return runs.size() < 2 ? 0 : mean_error(runs, &OwnRun::left_out_s); }
double OwnRunsFit::error_after() const { return mean_error(runs, &OwnRun::corrected_s); }

OwnRunsFit fit_own_runs(std::span<const ValidatedRun> runs, const std::string& source) {
  std::vector<KnownRun> known = known_runs(runs);
  const Job& job = known.front().job();
  const FactorSpread& spread = job.ranges.own_runs;
  if (!spread.known()) {
    fail_input({}, "hw_profiles/ranges.yaml does not say what own runs are weighed against",
               "it is made by `mirfak validate RUNS.csv... --tiers A --ranges FILE`");
  }
  const FactorEstimate estimate = estimate_of(known, spread);
  OwnRunsFit out;
  out.like = node_type_of(*known.front().run->simulated_scenario);
  out.title = known.front().node().title;
  out.correction.factors = time_factors_of(estimate);
  out.correction.covariance = estimate.covariance;
  out.correction.run_deviation = estimate.run_deviation;
  out.correction.framework = job.framework.name;
  out.correction.source = fmt::format("{} run{} of {}", known.size(), known.size() == 1 ? "" : "s", source);
  for (std::size_t i = 0; i < known.size(); ++i) {
    const PredictedPair& seconds = known[i].run->seconds;
    const double left_out = known.size() > 1 ? left_out_s(known, i, spread) : seconds.predicted;
    out.runs.push_back({known[i].run->run.where, seconds.measured, seconds.predicted, left_out,
                        predicted_with(known[i], out.correction.factors)});
  }
  return out;
}

std::string correction_yaml(const std::string& like, const std::string& title, const Correction& correction) {
  std::string deviations;
  std::string correlations;
  const auto append = [](std::string& list, double number) {
    list += fmt::format("{}{:.4f}", list.empty() ? "" : ", ", number);
  };
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    append(deviations, std::sqrt(correction.covariance[i][i]));
    for (std::size_t k = i + 1; k < kTimeFactors; ++k) {
      const double both = std::sqrt(correction.covariance[i][i] * correction.covariance[k][k]);
      append(correlations, std::round(1e4 * correction.covariance[i][k] / both) / 1e4 + 0.0);  // avoids -0.0000
    }
  }
  std::string out = fmt::format(
      "title: {}\n"
      "like: {}\n"
      "sources:\n"
      "  runs: {}\n"
      "correction:\n"
      "  framework: {}\n",
      quoted_yaml(fmt::format("{}, corrected by {}", title, correction.source)), quoted_yaml(like),
      quoted_yaml(correction.source), quoted_yaml(correction.framework));
  for (const TimeFactor& factor : kTimeFactorKeys) {
    out += fmt::format("  {}: [{:.4f}, runs]\n", factor.key, correction.factors.*factor.value);
  }
  return out + fmt::format(
                   "  deviations: [{}]  # of the logarithms of the three\n"
                   "  correlations: [{}]  # kernels with communication and host, communication with host\n"
                   "  run_deviation: {:.4f}  # of ln(measured / predicted), from run to run\n",
                   deviations, correlations, correction.run_deviation);
}

std::string corrected_node_yaml(const OwnRunsFit& fit) {
  std::string out = fmt::format(
      "# Made by `mirfak calibrate --runs`: how many times as long as by the profiles things take here. Mean error of\n"
      "# these runs {:.1f} % as they are predicted without",
      100 * fit.error_before());
  if (fit.runs.size() > 1) out += fmt::format(", {:.1f} % each from the others", 100 * fit.error_left_out());
  return out + fmt::format(", {:.1f} % with it.\n", 100 * fit.error_after()) +
         correction_yaml(fit.like, fit.title, fit.correction);
}

}  // namespace mirfak
