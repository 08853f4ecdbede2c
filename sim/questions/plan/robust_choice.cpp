// The time of an iteration is T * E: T is a sampled iteration, ln E the error of the prediction, whose 1 - level tails
// lie outside of its range. Each side of ln E is a normal distribution. Quantiles are those of all products of the
// samples of T with equally likely values of E.

#include "plan/robust_choice.hpp"

#include "base/random.hpp"
#include "simulation/sampled_images.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mirfak {

namespace {

constexpr int kErrors = 100;  // equally likely values of the prediction's error

Cluster perturbed(const Cluster& cluster, const Perturbations& perturbations) {
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : cluster.groups()) nodes.emplace_back(group);
  return {std::move(nodes), cluster.fabric(), perturbations, cluster.facility()};
}

// Returns equally likely ratios of measured to predicted iterations.
std::vector<double> errors_of(const IterationResult& result, double level) {
  if (result.iteration_time_high_s <= 0 || level <= 0) return {1};
  const double deviations = normal_quantile((1 + level) / 2);
  const double above = std::log(result.iteration_time_high_s / result.iteration_time_s) / deviations;
  const double below = std::log(result.iteration_time_s / result.iteration_time_low_s) / deviations;
  std::vector<double> out;
  for (int i = 0; i < kErrors; ++i) {
    const double normal = normal_quantile((i + 0.5) / kErrors);
    out.push_back(std::exp(normal * (normal > 0 ? above : below)));
  }
  return out;
}

// Returns the value that a share of the sorted values does not exceed.
double quantile(const std::vector<double>& sorted, double share) {
  const auto place = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(place, 1) - 1];
}

}  // namespace

UncertainTime uncertain_time(const SimulatedStrategy& strategy, const Perturbations& perturbations, int threads) {
  const IterationResult& result = strategy.iteration;
  UncertainTime out;
  std::vector<double> times = {result.iteration_time_s};
  Job job = strategy.found.job;
  job.cluster = perturbed(job.cluster, perturbations);
  if (is_drawn(job)) {
    const Spread spread = sample_iterations(job, {kRobustSamples, std::nullopt, true, threads});
    times.clear();
    // Sampled programs have every rank, and what passes exchange has its ports for itself: their share of change
    // counts.
    for (const SampledIteration& sample : spread.samples) {
      times.push_back(result.iteration_time_s * sample.time_s / spread.without_s);
    }
    out.perturbed_s = result.iteration_time_s * (spread.time.value / spread.without_s - 1);
    out.excess_s = spread.mean_excess_s;
  }
  std::vector<double> all;
  for (const double error : errors_of(result, strategy.found.job.ranges.level)) {
    for (const double time : times) all.push_back(time * error);
  }
  std::sort(all.begin(), all.end());
  out.median_s = quantile(all, 0.5);
  out.p90_s = quantile(all, kRobustShare);
  if (result.iteration_time_high_s > 0) out.range_s = result.iteration_time_high_s - result.iteration_time_s;
  return out;
}

RobustChoice robust_choice(std::span<const SimulatedStrategy> found, const Perturbations& perturbations, int threads) {
  std::vector<SimulatedStrategy> candidates;
  for (const SimulatedStrategy& strategy : found) {
    candidates.push_back(strategy);
    for (const FoundStrategy& variant : strategy.found.variants) candidates.push_back(simulate_found(variant));
  }
  const RobustStrategy fastest = {candidates.front(), uncertain_time(candidates.front(), perturbations, threads)};
  const bool drawn = perturbations.is_drawn() || fastest.strategy.found.job.training.images.drawn();
  RobustChoice out{fastest, fastest, candidates.size(), drawn};
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    UncertainTime time = uncertain_time(candidates[i], perturbations, threads);
    const auto key = [](const UncertainTime& of, const SimulatedStrategy& strategy) {
      return std::pair(of.p90_s, strategy.iteration.iteration_time_s);
    };
    if (key(time, candidates[i]) < key(out.robust.time, out.robust.strategy)) {
      out.robust = {std::move(candidates[i]), time};
    }
  }
  return out;
}

}  // namespace mirfak
