#include "training/prediction.hpp"

#include "base/units.hpp"
#include "simulation/evaluator.hpp"
#include "training/renewal.hpp"

#include <algorithm>
#include <chrono>

namespace mirfak {

namespace {

constexpr int kSpareSamples = 100;  // runs for each number of spares that is tried
constexpr int kMostSpares = 64;

std::vector<IterationResult> phases_of(const Job& job, const Operations& operations) {
  Evaluator evaluator;
  std::vector<IterationResult> phases;
  for (const RampStep& step : operations.ramp) phases.push_back(evaluator.evaluate(job_of_step(job, step)));
  phases.push_back(evaluator.evaluate(job));
  if (operations.last) phases.push_back(evaluator.evaluate(job_of_last(job, *operations.last)));
  return phases;
}

void find_intervals(const Operations& operations, TrainingPrediction& out) {
  const Failures& failures = out.course.failures;
  if (failures.rate_per_s() == 0 && failures.log.empty()) return;
  const std::size_t storage = out.course.calendar.tiers().size() - 1;
  if (operations.storage) out.best_interval_s = best_interval(renewal_case(out.course, storage));
  if (operations.memory) out.best_memory_interval_s = best_interval(renewal_case(out.course, 0));
}

bool repairs_nodes(const Failures& failures) {
  return failures.log.empty() &&
         std::any_of(failures.causes.begin(), failures.causes.end(),
                     [](const FailureCause& one) { return one.nodes > 0 && one.repair_s > 0 && one.rate_per_s > 0; });
}

}  // namespace

TrainingPrediction predict_training(const Job& job, const Operations& operations, int samples, std::uint64_t seed) {
  const std::vector<IterationResult> phases = phases_of(job, operations);
  TrainingPrediction out{training_course(job, operations, phases)};
  out.iteration = phases[operations.ramp.size()];
  const WorkCalendar& calendar = out.course.calendar;
  out.undisturbed_s = calendar.work_until(calendar.iterations());
  const auto started = std::chrono::steady_clock::now();
  out.estimate = estimate_training(out.course, samples, seed);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  out.simulated_days_per_s = out.estimate.simulated_s / kSecondsPerDay / std::max(1e-9, took.count());
  run_training(out.course, RandomStream(seed, out.estimate.median_run), &out.median_run);
  find_intervals(operations, out);
  if (repairs_nodes(out.course.failures)) {
    out.best_spares = best_spares(out.course, kMostSpares, std::min(samples, kSpareSamples), seed);
  }
  const double gpus = static_cast<double>(job.cluster.physical_gpus()) * out.course.learners;
  const double gpu_seconds = gpus * out.estimate.finish_mean_s.value;
  out.gpu_hours = gpu_seconds / kSecondsPerHour;
  out.nameplate_energy_j = nameplate_energy_j(job, operations, gpu_seconds);
  out.embodied_co2_kg = job.cluster.facility().embodied_kg(gpu_seconds);
  return out;
}

}  // namespace mirfak
