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
  sum.around_j += run.around_j;
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
  for (double* figure :
       {&sum.cost_usd, &sum.energy_j, &sum.around_j, &sum.facility_energy_j, &sum.co2_kg, &sum.restarts}) {
    *figure /= by;
  }
  for (double& count : sum.interruptions) count /= by;
  for (double& seconds : sum.lost_s) seconds /= by;
}

double standard_error(std::span<const double> values, double mean) {
  if (values.front() == values.back()) return 0;  // in ascending order
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
  for (const RunResult& run : runs) add(estimate, run);  // in the order of runs, on which sums of doubles depend
  divide(estimate, samples);

  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return runs[a].finish_s < runs[b].finish_s; });
  std::vector<double> sorted;
  for (const std::size_t run : order) sorted.push_back(runs[run].finish_s);
  estimate.finish_p50_s = quantile(sorted, 0.5);
  estimate.finish_p95_s = quantile(sorted, 0.95);
  for (int percent = 0; percent <= 100; ++percent) {
    const double share = percent / 100.0;
    estimate.finish_shares.push_back({share, quantile(sorted, share).value});
  }
  const double mean = total(estimate.parts);
  estimate.finish_mean_s = {mean, standard_error(sorted, mean)};
  estimate.goodput = estimate.parts[static_cast<std::size_t>(TimePart::training)] / mean;
  estimate.median_run = order[(order.size() - 1) / 2];
  return estimate;
}

namespace {

// Returns the mean number of nodes under repair.
double nodes_in_repair(const Failures& failures) {
  double nodes = 0;
  for (const FailureCause& cause : failures.causes) nodes += cause.rate_per_s * cause.nodes * cause.repair_s;
  return nodes;
}

// Walks from `start` up and then down, as long as the measure falls.
template <typename Measure>
int least_of(int start, int most, const Measure& measure) {
  int best = start;
  double least = measure(start);
  for (const int direction : {1, -1}) {
    const int begun = best;
    for (int spares = begun + direction; spares >= 0 && spares <= most; spares += direction) {
      const double found = measure(spares);
      if (found >= least) break;
      least = found;
      best = spares;
    }
    if (best != begun) break;
  }
  return best;
}

}  // namespace

int best_spares(TrainingCourse course, int most, int samples, std::uint64_t seed) {
  const auto estimate = [&](int spares) {
    course.spares = spares;
    return estimate_training(course, samples, seed);
  };
  const int start = std::min(most, static_cast<int>(std::ceil(nodes_in_repair(course.failures))));
  if (course.costs.usd_per_node_s > 0) {
    return least_of(start, most, [&](int spares) { return estimate(spares).cost_usd; });
  }
  const double enough = estimate(most).finish_p95_s.value * 1.001;
  int spares = start;
  while (spares < most && estimate(spares).finish_p95_s.value > enough) ++spares;
  while (spares > 0 && estimate(spares - 1).finish_p95_s.value <= enough) --spares;
  return spares;
}

double share_of_time_complete(const TrainingCourse& course) {
  const double mean = nodes_in_repair(course.failures);
  double term = std::exp(-mean);
  double sum = term;
  for (int nodes = 1; nodes <= course.spares; ++nodes) sum += term *= mean / nodes;
  return sum;
}

}  // namespace mirfak
