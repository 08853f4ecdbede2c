#include "plan/cluster_bound.hpp"

#include "plan/layout.hpp"
#include "program/stage_plan.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace mirfak {

namespace {

// The smallest job of one stage with these blocks; nothing where there is none.
std::optional<Job> smallest_job(const Job& job, const Strategy& choice) {
  Job out = job;
  out.strategy = choice;
  out.strategy.pipeline = 1;
  out.strategy.data = choice.expert_span().data;
  out.training.global_batch = std::int64_t{choice.micro_batch} * out.strategy.data;
  const auto gpus = static_cast<int>(out.strategy.ranks());
  if (gpus > out.cluster.gpus()) return std::nullopt;
  if (first_violation({out.model, out.training, out.framework, out.strategy, gpus})) return std::nullopt;
  return out;
}

}  // namespace

ClusterBound::ClusterBound(const Job& job, const StrategySpace& space, SharedBlocks& shared)
    : job_(job), space_(space), shared_(shared) {}

double ClusterBound::gpu_seconds_per_sequence(const NodeGroup& group) {
  Job job = job_;
  job.cluster = Cluster({group}, job_.cluster.fabric());
  double min = std::numeric_limits<double>::infinity();
  for (const Strategy& layout : group_sizes(space_)) {
    for (const Strategy& choice : block_choices(space_, layout, job_.framework)) {
      const std::optional<Job> smallest = smallest_job(job, choice);
      if (!smallest) continue;
      const LayoutCosts costs(*smallest, smallest->strategy);
      const double seconds = shared_.layers_of(*smallest)->on(*smallest, costs.costs.front(), false)->kernels_s;
      min = std::min(min, seconds * choice.team() / choice.micro_batch);
    }
  }
  return min;
}

double ClusterBound::seconds(const Cluster& cluster) {
  double sequences_per_s = 0;
  for (const NodeGroup& group : cluster.groups()) {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = of_type_.try_emplace(group.hardware.spec.name);
    if (is_new) known->second = gpu_seconds_per_sequence(group);
    sequences_per_s += static_cast<double>(group.count) * group.hardware.spec.gpus / known->second;
  }
  return static_cast<double>(job_.training.global_batch) / sequences_per_s * (1 - 1e-9);
}

}  // namespace mirfak
