#include "plan/cluster_bound.hpp"

#include "base/error.hpp"
#include "plan/layout.hpp"
#include "program/quantization_of_job.hpp"
#include "program/stage_plan.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace mirfak {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// The smallest job of one stage with these blocks; nothing where there is none.
std::optional<Job> smallest_job(const Job& job, const Strategy& choice) {
  Job out = job;
  out.strategy = choice;
  out.strategy.pipeline = 1;
  out.strategy.data = choice.expert_span().data;
  out.training.global_batch = std::int64_t{choice.micro_batch} * out.strategy.data;
  const auto gpus = static_cast<int>(out.strategy.ranks());
  const NodeGroup& nodes = out.cluster.groups().front();
  if (gpus > nodes.count * nodes.hardware.spec.gpus) return std::nullopt;
  if (first_violation({out.model, out.training, out.framework, out.strategy, gpus})) return std::nullopt;
  return out;
}

}  // namespace

ClusterBound::ClusterBound(const Job& job, const StrategySpace& space, SharedBlocks& shared, bool energy)
    : job_(job), space_(space), shared_(shared), energy_(energy), plain_(space.plain()) {}

ClusterBound::Sizes ClusterBound::sizes_of(const Strategy& layout) {
  return {layout.tensor, layout.context, layout.expert, layout.expert_tensor};
}

// Where teams divide the GPUs of a node they all lie alike, wherever their stage is: what the blocks of one communicate
// takes as long as in the smallest job. Other teams are bounded by their kernels.
ClusterBound::PerSequence ClusterBound::of_blocks(const Job& job, const Strategy& choice) {
  const std::optional<Job> smallest = smallest_job(job, choice);
  if (!smallest) return {kNone, kNone};
  const LayoutCosts costs(*smallest, smallest->strategy);
  const auto terms = shared_.layers_of(*smallest)->on(*smallest, costs.costs.front(), energy_);
  const NodeSpec& node = costs.costs.front().hardware->hardware.spec;
  const bool alike = plain_ && choice.expert == 1 && std::min(node.gpus, node.scale_up_domain) % choice.team() == 0 &&
                     node.gpus % choice.team() == 0;
  const double seconds = alike ? to_seconds(terms->device.back()) : terms->kernels_s;
  const double share = static_cast<double>(choice.team()) / choice.micro_batch;
  return {seconds * share, terms->energy_j * share};
}

// The fastest and the thriftiest need not be the same.
ClusterBound::OfSizes ClusterBound::of_sizes(const Job& job, const Strategy& sizes) {
  OfSizes out{{kNone, kNone}, {}};
  for (const Strategy& choice : block_choices(space_, sizes, job_.framework)) {
    const PerSequence& with = out.with.emplace_back(of_blocks(job, choice));
    out.any.seconds = std::min(out.any.seconds, with.seconds);
    out.any.joules = std::min(out.any.joules, with.joules);
  }
  return out;
}

// Of each type that is used.
const std::vector<const ClusterBound::OfType*>& ClusterBound::of_types(const NodeCounts& counts) {
  std::vector<bool> used;
  for (const int count : counts) used.push_back(count > 0);
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = of_types_.try_emplace(used);
  for (std::size_t type = 0; is_new && type < counts.size(); ++type) {
    if (used[type]) known->second.push_back(&of_type(counts, type));
  }
  return known->second;
}

// On nodes of the type that lie before all others.
const ClusterBound::OfType& ClusterBound::of_type(const NodeCounts& counts, std::size_t type) {
  std::vector<NodeAllotment> nodes;
  nodes.emplace_back(job_.cluster.groups()[type]);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0 && i != type) nodes.emplace_back(job_.cluster.groups()[i]);
  }
  Job job = job_;
  job.cluster = Cluster(std::move(nodes), job_.cluster.fabric());
  const std::string& name = job.cluster.groups().front().hardware.spec.name;
  const auto [known, is_new] = of_type_.try_emplace({name, BlockHardware(job)});
  OfType& out = known->second;
  if (!is_new) return out;
  try {
    rate(out, job);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    out = {{kNone, kNone}, {}, error.message()};
  }
  return out;
}

void ClusterBound::rate(OfType& out, const Job& job) {
  const GpuSpec& gpu = job.cluster.groups().front().hardware.gpu;
  if (!can_train(gpu, job)) fail_infeasible({}, gpu.title + " cannot compute in " + job.training.precision);
  out.any = {kNone, kNone};
  for (const Strategy& sizes : group_sizes(space_)) {
    const OfSizes& in = out.in[sizes_of(sizes)] = of_sizes(job, sizes);
    out.any.seconds = std::min(out.any.seconds, in.any.seconds);
    out.any.joules = std::min(out.any.joules, in.any.joules);
  }
}

std::vector<LeftOut> ClusterBound::left_out() {
  const std::lock_guard lock(mutex_);
  std::vector<LeftOut> out;
  for (const auto& [key, type] : of_type_) {
    const bool known = !out.empty() && out.back().nodes == key.first;
    if (!type.reason.empty() && !known) out.push_back({key.first, type.reason});
  }
  return out;
}

template <typename Pick>
ClusterBound::Least ClusterBound::with(const NodeCounts& counts, const Pick& pick) {
  const auto sequences = static_cast<double>(job_.training.global_batch);
  Least out;
  double sequences_per_s = 0;
  auto type = of_types(counts).begin();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const NodeGroup& group = job_.cluster.groups()[i];
    const PerSequence best = pick(**type++);
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
  return with(counts, [&](const OfType& type) { return type.in.at(sizes_of(layout)).any; });
}

ClusterBound::Least ClusterBound::least(const NodeCounts& counts, const Strategy& layout, std::size_t choice) {
  return with(counts, [&](const OfType& type) { return type.in.at(sizes_of(layout)).with[choice]; });
}

}  // namespace mirfak
