#include "plan/cluster_bound.hpp"

#include "plan/layout.hpp"
#include "program/stage_plan.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <cmath>
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

ClusterBound::ClusterBound(const Job& job, const StrategySpace& space, SharedBlocks& shared, bool energy)
    : job_(job), space_(space), shared_(shared), energy_(energy) {}

ClusterBound::Sizes ClusterBound::sizes_of(const Strategy& layout) {
  return {layout.tensor, layout.context, layout.expert, layout.expert_tensor};
}

// The fastest and the thriftiest need not be the same.
ClusterBound::PerSequence ClusterBound::best_blocks(const Job& job, const Strategy& sizes) {
  constexpr double none = std::numeric_limits<double>::infinity();
  PerSequence out{none, none};
  for (const Strategy& choice : block_choices(space_, sizes, job_.framework)) {
    const std::optional<Job> smallest = smallest_job(job, choice);
    if (!smallest) continue;
    const LayoutCosts costs(*smallest, smallest->strategy);
    const auto terms = shared_.layers_of(*smallest)->on(*smallest, costs.costs.front(), energy_);
    const double share = static_cast<double>(choice.team()) / choice.micro_batch;
    out.seconds = std::min(out.seconds, terms->kernels_s * share);
    out.joules = std::min(out.joules, terms->energy_j * share);
  }
  return out;
}

const ClusterBound::OfType& ClusterBound::of_type(const NodeGroup& group) {
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = of_type_.try_emplace(group.hardware.spec.name);
  OfType& out = known->second;
  if (!is_new) return out;
  Job job = job_;
  job.cluster = Cluster({group}, job_.cluster.fabric());
  constexpr double none = std::numeric_limits<double>::infinity();
  out.any = {none, none};
  for (const Strategy& sizes : group_sizes(space_)) {
    const PerSequence best = best_blocks(job, sizes);
    out.in[sizes_of(sizes)] = best;
    out.any.seconds = std::min(out.any.seconds, best.seconds);
    out.any.joules = std::min(out.any.joules, best.joules);
  }
  return out;
}

template <typename Pick>
ClusterBound::Least ClusterBound::with(const NodeCounts& counts, const Pick& pick) {
  const auto sequences = static_cast<double>(job_.training.global_batch);
  Least out;
  double sequences_per_s = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const NodeGroup& group = job_.cluster.groups()[i];
    const PerSequence best = pick(of_type(group));
    const double gpus = static_cast<double>(counts[i]) * group.hardware.spec.gpus;
    if (!std::isfinite(best.seconds)) return {best.seconds, 0, {}};
    out.types.push_back({gpus / best.seconds, best.joules});
    sequences_per_s += gpus / best.seconds;
  }
  constexpr double rounding = 1 - 1e-9;
  merge_alike(out.types);
  out.seconds = sequences / sequences_per_s * rounding;
  out.working_j = least_energy(out.types, sequences, 0, 0) * rounding;
  return out;
}

ClusterBound::Least ClusterBound::least(const NodeCounts& counts) {
  return with(counts, [](const OfType& type) { return type.any; });
}

ClusterBound::Least ClusterBound::least(const NodeCounts& counts, const Strategy& layout) {
  return with(counts, [&](const OfType& type) { return type.in.at(sizes_of(layout)); });
}

}  // namespace mirfak
