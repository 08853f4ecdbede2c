#include "training/estimate.hpp"

#include "base/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mirfak {

namespace {

double at_rank(std::span<const double> sorted, double rank) {
  const double place = std::clamp(rank, 0.0, static_cast<double>(sorted.size() - 1));
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void add(TrainingEstimate& sum, const RunResult& run) {
  for (std::size_t part = 0; part < kTimeParts; ++part) sum.parts[part] += run.parts[part];
  sum.cost_usd += run.cost_usd;
  sum.energy_j += run.energy_j;
  sum.facility_energy_j += run.facility_energy_j;
  sum.co2_kg += run.co2_kg;
  sum.restarts += static_cast<double>(run.restarts);
  sum.simulated_s += run.finish_s;
  for (std::size_t cause = 0; cause < run.causes.size(); ++cause) {
    sum.interruptions[cause] += static_cast<double>(run.causes[cause].count);
    sum.lost_s[cause] += run.causes[cause].lost_s;
  }
}

void divide(TrainingEstimate& sum, double by) {
  for (double& part : sum.parts) part /= by;
  for (double* figure : {&sum.cost_usd, &sum.energy_j, &sum.facility_energy_j, &sum.co2_kg, &sum.restarts}) {
    *figure /= by;
  }
  for (double& count : sum.interruptions) count /= by;
  for (double& seconds : sum.lost_s) seconds /= by;
}

double standard_error(std::span<const double> values, double mean) {
  if (values.size() < 2) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  return std::sqrt(squares / (count - 1) / count);
}

std::vector<RunResult> runs_of(const TrainingCourse& course, int samples, std::uint64_t seed, int threads) {
  std::vector<RunResult> runs(static_cast<std::size_t>(samples));
  parallel_for(
      runs.size(), [&](std::size_t run) { runs[run] = run_training(course, RandomStream(seed, run)); }, threads);
  return runs;
}

}  // namespace

Estimated quantile(std::span<const double> sorted, double share) {
  const auto count = static_cast<double>(sorted.size());
  const double rank = share * (count - 1);
  const double deviation = std::sqrt(count * share * (1 - share));
  return {at_rank(sorted, rank), (at_rank(sorted, rank + deviation) - at_rank(sorted, rank - deviation)) / 2};
}

TrainingEstimate estimate_training(const TrainingCourse& course, int samples, std::uint64_t seed, int threads) {
  const std::vector<RunResult> runs = runs_of(course, samples, seed, threads);
  TrainingEstimate estimate;
  estimate.samples = samples;
  estimate.interruptions.assign(course.failures.causes.size(), 0);
  estimate.lost_s = estimate.interruptions;
  for (const RunResult& run : runs) add(estimate, run);  // in their order: sums of doubles depend on it
  divide(estimate, samples);

  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return runs[a].finish_s < runs[b].finish_s; });
  std::vector<double> sorted;
  for (const std::size_t run : order) sorted.push_back(runs[run].finish_s);
  estimate.finish_p50_s = quantile(sorted, 0.5);
  estimate.finish_p95_s = quantile(sorted, 0.95);
  const double mean = total(estimate.parts);
  estimate.finish_mean_s = {mean, standard_error(sorted, mean)};
  estimate.goodput = estimate.parts[static_cast<std::size_t>(TimePart::training)] / mean;
  estimate.median_run = order[(order.size() - 1) / 2];
  return estimate;
}

int best_spares(TrainingCourse course, int most, int samples, std::uint64_t seed) {
  course.spares = most;
  const bool priced = course.costs.usd_per_node_s > 0;
  const double enough = estimate_training(course, samples, seed).finish_p95_s.value * 1.001;
  int best = most;
  double least = 0;
  for (int spares = 0; spares <= most; ++spares) {
    course.spares = spares;
    const TrainingEstimate estimate = estimate_training(course, samples, seed);
    if (!priced && estimate.finish_p95_s.value <= enough) return spares;
    if (priced && (spares == 0 || estimate.cost_usd < least)) {
      least = estimate.cost_usd;
      best = spares;
    }
    const double waiting = estimate.parts[static_cast<std::size_t>(TimePart::waiting)];
    if (priced && waiting == 0) break;  // more can only cost
  }
  return best;
}

}  // namespace mirfak
