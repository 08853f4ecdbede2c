// Time factors of a machine from the steps of a profiler's recording. Two times are known for each step: the time of
// the GPU's kernels that do not communicate, and the length of the step. The first time follows the factor of kernels
// alone; the second follows all factors as the simulated iteration does. Both go into the estimate that measured runs
// also use (calibration/factor_fit.hpp), as samples with those sensitivities. Communication kernels contain waiting for
// the other ranks, so their own times do not measure links: the links' factor follows from the length of steps alone.
#include "validation/recorded_run.hpp"

#include "base/error.hpp"
#include "base/yaml.hpp"
#include "calibration/factor_fit.hpp"
#include "recording/recording_summary.hpp"
#include "simulation/iteration.hpp"
#include "simulation/time_factors.hpp"
#include "validation/own_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace mirfak {

namespace {

// Times of a step, measured or predicted.
struct StepSeconds {
  double gpu_s = 0;  // kernels without communication and copies; means over ranks
  double step_s = 0;
};

std::string files_of(std::span<const Recording> recordings) {
  const std::string first = std::filesystem::path(recordings.front().file).filename().string();
  return recordings.size() == 1 ? first : fmt::format("{} and {} more", first, recordings.size() - 1);
}

std::size_t common_steps(std::span<const Recording> recordings) {
  std::size_t out = recordings.front().steps.size();
  for (const Recording& recording : recordings) out = std::min(out, recording.steps.size());
  return out;
}

double kernel_seconds(const Recording& recording, std::size_t step) {
  return seconds(busy_time(recording, [&](const RecordedKernel& kernel) {
    return kernel.step == static_cast<std::int32_t>(step) && !recording.communicates(kernel) &&
           !recording.class_of(kernel).copies;
  }));
}

std::vector<StepSeconds> measured_steps(std::span<const Recording> recordings) {
  std::vector<StepSeconds> out(common_steps(recordings));
  const auto ranks = static_cast<double>(recordings.size());
  for (std::size_t step = 0; step < out.size(); ++step) {
    for (const Recording& recording : recordings) {
      out[step].gpu_s += kernel_seconds(recording, step) / ranks;
      out[step].step_s += seconds(recording.steps[step].end - recording.steps[step].start) / ranks;
    }
    if (out[step].gpu_s > 0 && out[step].step_s > 0) continue;
    fail_input({recordings.front().file, 0, 0},
               fmt::format("no kernel runs in the step {}", recordings.front().steps[step].name),
               "record steps with ProfilerActivity.CUDA, or with --trace=cuda,nvtx");
  }
  return out;
}

double kernels_of(const ActivitySeconds& activity) {
  double out = 0;
  for (const Activity each : {Activity::gemm, Activity::attention, Activity::memory_bound, Activity::optimizer}) {
    out += activity[static_cast<std::size_t>(each)];
  }
  return out;
}

// Checks that one rank may stand for all: only if all stages take equally long.
void check_stages(const IterationResult& result, std::span<const Recording> recordings) {
  constexpr double kAlike = 1.01;
  double least = kernels_of(result.activity_s);
  double most = least;
  for (const StageResult& stage : result.stages) {
    least = std::min(least, kernels_of(stage.activity_s));
    most = std::max(most, kernels_of(stage.activity_s));
  }
  if (most <= kAlike * least || recordings.size() == static_cast<std::size_t>(result.gpus)) return;
  fail_input(
      {recordings.front().file, 0, 0},
      fmt::format("the scenario's stages differ, and {} of its {} ranks are recorded", recordings.size(), result.gpus),
      "give a folder with the recordings of every rank, or a run without pipeline stages");
}

// Checks that the scenario describes the run: a factor corrects errors of models, not a scenario of another run.
void check_described(const std::vector<StepSeconds>& steps, const StepSeconds& predicted, const Scenario& scenario,
                     const std::string& file) {
  double measured_s = 0;
  for (const StepSeconds& step : steps) measured_s += step.gpu_s / static_cast<double>(steps.size());
  const double times = measured_s / predicted.gpu_s;
  if (times <= kMostTimesAsLong && times >= 1 / kMostTimesAsLong) return;
  fail_input({file, 0, 0},
             fmt::format("kernels of a step take {:.3g} times as long as those of {}: it does not describe this run",
                         times, scenario.name),
             "give the scenario that was recorded: model, batch, layout and precision");
}

class StepFit {
 public:
  StepFit(const Job& job, const FactorSpread& spread) : job_(job), spread_(spread) {
    const IterationResult result = simulate(job_).result;
    predicted_ = {kernels_of(result.activity_s), result.iteration_time_s};
    sensitivity_ = time_sensitivities(job_, predicted_.step_s);
  }

  const StepSeconds& predicted() const { return predicted_; }

  StepSeconds predicted_with(const FactorEstimate& estimate) const {
    const IterationResult result = simulate(with_time_factors(job_, time_factors_of(estimate))).result;
    return {kernels_of(result.activity_s), result.iteration_time_s};
  }

  // Estimates the factors. Sensitivities hold only near the point at which they were taken: a simulation with the
  // estimate shifts the ratios to explain (Gauss-Newton method with constant slopes).
  FactorEstimate estimate(const std::vector<StepSeconds>& steps) const {
    constexpr int kFactorRounds = 3;
    const FactorVector of_kernels{1, 0, 0};
    double shift = 0;  // shift of the logarithm of the iteration time beyond the slopes
    FactorEstimate out;
    for (int round = 0; round < kFactorRounds; ++round) {
      std::vector<FactorSample> samples;
      for (const StepSeconds& step : steps) {
        samples.push_back({of_kernels, std::log(step.gpu_s / predicted_.gpu_s)});
        samples.push_back({sensitivity_, std::log(step.step_s / predicted_.step_s) - shift});
      }
      out = estimate_factors(samples, spread_);
      shift = std::log(predicted_with(out).step_s / predicted_.step_s) - out.correction_of(sensitivity_);
    }
    return out;
  }

 private:
  const Job& job_;
  const FactorSpread& spread_;
  StepSeconds predicted_;
  FactorVector sensitivity_{};
};

RecordedPart part_of(const std::string& name, const std::vector<StepSeconds>& steps, double StepSeconds::*time,
                     const StepSeconds& before, const StepSeconds& by_fitted, const StepSeconds& after) {
  RecordedPart out{name, 0, before.*time, after.*time, 0, 0, 0};
  double shortest = steps.front().*time;
  double longest = shortest;
  std::size_t judged = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double step_s = steps[i].*time;
    out.measured_s += step_s / static_cast<double>(steps.size());
    shortest = std::min(shortest, step_s);
    longest = std::max(longest, step_s);
    if (i % 2 == 0) continue;
    ++judged;
    out.error_before += std::abs(before.*time / step_s - 1);
    out.error_after += std::abs(by_fitted.*time / step_s - 1);
  }
  out.error_before /= static_cast<double>(judged);
  out.error_after /= static_cast<double>(judged);
  out.spread = longest / shortest - 1;
  return out;
}

const NodeSpec& only_node(const Scenario& scenario) {
  const auto& groups = scenario.job.cluster.groups();
  const NodeSpec& spec = groups.front().hardware.spec;
  if (groups.size() > 1) {
    fail_input({scenario.name, 0, 0}, "the scenario has several types of nodes, which a trace cannot tell apart",
               "fit to a run on one of them");
  }
  if (spec.correction) {
    fail_input({scenario.name, 0, 0}, fmt::format("{} is corrected by runs already", spec.name),
               "name the node type that it is like");
  }
  return spec;
}

}  // namespace

std::optional<RecordedHost> recorded_host(std::span<const Recording> recordings) {
  RecordedHost out;
  double forward = 0;
  double backward = 0;
  for (const Recording& recording : recordings) {
    const RecordingSummary summary = summarize(recording);
    if (summary.forward.count == 0 || summary.backward.count == 0) return std::nullopt;
    out.launches += summary.forward.count + summary.backward.count;
    forward += summary.forward.median_s;
    backward += summary.backward.median_s;
  }
  out.forward_s = forward / static_cast<double>(recordings.size());
  out.backward_s = backward / static_cast<double>(recordings.size());
  out.source =
      fmt::format("{}, {} steps: median of {} launches", files_of(recordings), common_steps(recordings), out.launches);
  return out;
}

std::string recorded_framework_yaml(const Scenario& scenario, const RecordedHost& host) {
  const Value& framework = *scenario.completed.find("training")->find("framework");
  if (framework.kind != Value::Kind::scalar) {
    fail_input({scenario.name, 0, 0}, "training.framework is a mapping, which a file cannot be like",
               "put it into a file, and name that");
  }
  const std::string source = quoted_yaml(host.source);
  return fmt::format(
      "# Made by `mirfak calibrate --trace`: the host's times as they were recorded.\n"
      "like: {}\n"
      "host:\n"
      "  forward_s: {{value: {:.4g}, source: {}}}\n"
      "  backward_s: {{value: {:.4g}, source: {}}}\n",
      quoted_yaml(framework.scalar), host.forward_s, source, host.backward_s, source);
}

RecordedFit fit_recorded_run(const Scenario& scenario, std::span<const Recording> recordings,
                             const std::string& framework) {
  const NodeSpec& node = only_node(scenario);
  const FactorSpread& spread = scenario.job.ranges.own_runs;
  if (!spread.known()) fail_input({}, "hw_profiles/ranges.yaml does not say what own runs are weighed against");
  if (common_steps(recordings) < 2) {
    fail_input({recordings.front().file, 0, 0},
               "fewer than two steps are recorded, and some are to be judged by others",
               "record two or more with ProfilerStep, or NVTX ranges 'iteration N'");
  }
  const std::vector<StepSeconds> steps = measured_steps(recordings);
  check_stages(simulate(scenario.job).result, recordings);
  std::vector<StepSeconds> fitted;
  for (std::size_t i = 0; i < steps.size(); i += 2) fitted.push_back(steps[i]);

  const StepFit fit(scenario.job, spread);
  check_described(steps, fit.predicted(), scenario, recordings.front().file);
  const StepSeconds by_fitted = fit.predicted_with(fit.estimate(fitted));
  const FactorEstimate estimate = fit.estimate(steps);
  const StepSeconds after = fit.predicted_with(estimate);
  RecordedFit out;
  out.like = node_type_of(scenario);
  out.title = node.title;
  out.fitted = fitted.size();
  out.judged = steps.size() - fitted.size();
  out.correction.factors = time_factors_of(estimate);
  out.correction.covariance = estimate.covariance;
  out.correction.run_deviation = std::max(estimate.run_deviation, spread.run);
  out.correction.framework = framework;
  out.correction.source = fmt::format("{} steps of {}", steps.size(), files_of(recordings));
  out.parts.push_back(
      part_of("kernels without communication", steps, &StepSeconds::gpu_s, fit.predicted(), by_fitted, after));
  out.parts.push_back(part_of("step", steps, &StepSeconds::step_s, fit.predicted(), by_fitted, after));
  const bool described = std::any_of(recordings.begin(), recordings.end(), [](const Recording& recording) {
    return summarize(recording).communications > 0;
  });
  out.notes.emplace_back(described
                             ? "communication kernels contain waiting for the other ranks: links stay as in their "
                               "profiles, and their factor follows from the length of steps alone"
                             : "nothing communicates: its factor stays near 1");
  return out;
}

std::string recorded_node_yaml(const RecordedFit& fit) {
  std::string comment = fmt::format(
      "# Made by `mirfak calibrate --trace`: how many times as long as by the profiles things take here. Mean errors\n"
      "# of {} steps that were left out, as predicted without and with the correction by the {} others:\n",
      fit.judged, fit.fitted);
  for (const RecordedPart& part : fit.parts) {
    comment += fmt::format("# {} {:.1f} % and {:.1f} %; these steps differ by {:.1f} %\n", part.name,
                           100 * part.error_before, 100 * part.error_after, 100 * part.spread);
  }
  return comment + correction_yaml(fit.like, fit.title, fit.correction);
}

}  // namespace mirfak
