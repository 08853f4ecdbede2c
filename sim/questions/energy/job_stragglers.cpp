#include "energy/job_stragglers.hpp"

#include "simulation/iteration.hpp"
#include "simulation/sampled_images.hpp"
#include "simulation/spread.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

constexpr double kLeast = 1 + 1e-6;

// Keeps measured experts, which are equally uneven in all replicas: no replica waits for another because of them.
Job without_perturbations(Job job) {
  Perturbations alike;
  if (!job.cluster.perturbations().draws_experts()) alike.experts = job.cluster.perturbations().experts;
  std::vector<NodeAllotment> nodes(job.cluster.groups().begin(), job.cluster.groups().end());
  job.cluster = Cluster(std::move(nodes), job.cluster.fabric(), std::move(alike), job.cluster.facility());
  return job;
}

}  // namespace

JobStragglers job_stragglers(const Job& job, int samples) {
  const Perturbations& perturbations = job.cluster.perturbations();
  const bool perturbed = perturbations.is_drawn() || !perturbations.empty();
  JobStragglers out{without_perturbations(job), {}, {}};
  const auto add = [&](double slowdown, const std::string& what) {
    if (slowdown < kLeast) return;
    out.slowdowns.push_back(slowdown);
    out.notes.push_back(fmt::format("{} {:.4g} times as long, by {}: plans for pipelines that wait", what, slowdown,
                                    perturbed ? "cluster.perturbations" : "training.images"));
  };
  if (is_drawn(job)) {
    const Spread spread = sample_iterations(job, {samples, {}, true, 0});
    for (const SampleQuantile& of : spread.quantiles) {
      if (of.share > 0.95) continue;
      add(of.value / spread.without_s,
          fmt::format("{:.0f} % of {} sampled iterations take at most", of.share * 100, samples));
    }
  } else if (!perturbations.empty()) {
    add(simulate(job).result.iteration_time_s / simulate(out.even).result.iteration_time_s, "the iteration takes");
  }
  return out;
}

}  // namespace mirfak
