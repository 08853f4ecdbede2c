#include "plan/cluster_bound.hpp"

#include "base/error.hpp"
#include "plan/branch.hpp"
#include "plan/layout.hpp"
#include "program/memory.hpp"
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

ClusterBound::ClusterBound(const Job& job, const StrategySpace& space, const StateChoices& states, double headroom,
                           SharedBlocks& shared, const EnergyAsked& energy)
    : job_(job),
      space_(space),
      shared_(shared),
      energy_(energy),
      states_(states),
      headroom_(headroom),
      plain_(space.plain()),
      loops_(space.loops()) {}

ClusterBound::Sizes ClusterBound::sizes_of(const Strategy& layout) {
  return {layout.tensor, layout.context, layout.expert, layout.expert_tensor};
}

// Teams that divide the GPUs of a node, or take whole nodes, lie nowhere better than in the smallest job, whose nodes
// are the first of their type: what the blocks of one communicate takes no less. Other teams are bounded by their
// kernels.
ClusterBound::OfBlocks ClusterBound::of_blocks(const Job& job, const Strategy& choice) {
  const std::optional<Job> smallest = smallest_job(job, choice);
  if (!smallest) return {{kNone, kNone}, choice, nullptr};
  const LayoutCosts costs(*smallest, smallest->strategy);
  const std::shared_ptr<LayerBound> layers = shared_.layers_of(*smallest);
  const auto terms = layers->on(*smallest, costs.costs.front(), energy_);
  const NodeSpec& node = costs.costs.front().hardware->hardware.spec;
  const int team = choice.team();
  const bool within_nodes = std::min(node.gpus, node.scale_up_domain) % team == 0 && node.gpus % team == 0;
  const bool alike = plain_ && choice.expert == 1 && (within_nodes || team % node.gpus == 0);
  const double seconds = alike ? to_seconds(terms->device.back()) : terms->kernels_s;
  const double share = static_cast<double>(team) / choice.micro_batch;
  return {{seconds * share, terms->energy_j * share}, choice, layers};
}

// The fastest and the thriftiest need not be the same.
ClusterBound::OfSizes ClusterBound::of_sizes(const Job& job, const Strategy& sizes) {
  OfSizes out{{kNone, kNone}, {}};
  for (const Strategy& choice : block_choices(space_, sizes, job_.framework)) {
    const PerSequence& with = out.with.emplace_back(of_blocks(job, choice)).rate;
    out.any.seconds = std::min(out.any.seconds, with.seconds);
    out.any.joules = std::min(out.any.joules, with.joules);
  }
  return out;
}

// Of each type that is used.
const ClusterBound::Types& ClusterBound::of_types(const NodeCounts& counts) {
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
  const auto [known, is_new] =
      of_type_.try_emplace({StageHardware(job.cluster.groups().front().hardware.spec), BlockHardware(job)});
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
    const bool known = !out.empty() && out.back().nodes == key.first.node;
    if (!type.reason.empty() && !known) out.push_back({key.first.node, type.reason});
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

LayoutShape ClusterBound::shape_of(const Strategy& layout, const Strategy& choice) const {
  LayoutShape shape;
  shape.stages = layout.pipeline;
  shape.replicas = layout.data;
  shape.microbatches = static_cast<double>(job_.training.global_batch) / choice.micro_batch;
  shape.layers = job_.model.layers;
  shape.max_chunks = space_.max_chunks(job_.model.layers, layout.pipeline);
  shape.even_chunks = shape.max_chunks == 1 || space_.uneven_end_chunks == 0;
  return shape;
}

// None where the blocks run on none of some type.
std::vector<TeamsOfType> ClusterBound::teams_of(const NodeCounts& counts, const Types& types, const Strategy& layout,
                                                std::size_t choice) const {
  std::vector<TeamsOfType> out;
  auto type = types.begin();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const OfBlocks& with = (*type++)->in.at(sizes_of(layout)).with[choice];
    if (!with.layers) return {};
    const NodeHardware& hardware = job_.cluster.groups()[i].hardware;
    const int team = layout.team();
    const double gpus = static_cast<double>(counts[i]) * hardware.spec.gpus;
    out.push_back({gpus / team, with.rate.seconds * with.choice.micro_batch / team,
                   usable_bytes(hardware.gpu.memory_bytes.value, headroom_) - job_.framework.memory.platform_bytes});
  }
  return out;
}

LayerBytes ClusterBound::bytes_of(const OfBlocks& blocks, const Strategy& layout) {
  const bool gathers = gathers_in_passes(job_.framework, blocks.choice.zero);
  const double kept = min_kept(blocks.choice, *blocks.layers, loops_);
  const std::tuple key(sizes_of(layout), gathers, layout.data);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = states_of_layers_.find(key); known != states_of_layers_.end()) return {known->second, kept};
  }
  Job job = job_;
  job.strategy = blocks.choice;
  job.strategy.pipeline = layout.pipeline;
  job.strategy.data = layout.data;
  const double state = min_state(job, *blocks.layers, states_[gathers ? 1 : 0]);
  const std::lock_guard lock(mutex_);
  states_of_layers_.emplace(key, state);
  return {state, kept};
}

bool ClusterBound::may_fit(std::span<const TeamsOfType> teams, const OfBlocks& blocks, const Strategy& layout) {
  return layers_may_fit(teams, shape_of(layout, blocks.choice), bytes_of(blocks, layout));
}

bool ClusterBound::may_fit(const NodeCounts& counts, const Strategy& layout, std::size_t choice) {
  const Types& types = of_types(counts);
  const std::vector<TeamsOfType> teams = teams_of(counts, types, layout, choice);
  return teams.empty() || may_fit(teams, types.front()->in.at(sizes_of(layout)).with[choice], layout);
}

ClusterBound::Least ClusterBound::least(const NodeCounts& counts, const Strategy& layout) {
  Least out = with(counts, [&](const OfType& type) { return type.in.at(sizes_of(layout)).any; });
  if (!loops_ || !std::isfinite(out.seconds)) return out;
  const Types& types = of_types(counts);
  const std::vector<OfBlocks>& choices = types.front()->in.at(sizes_of(layout)).with;
  double any = kNone;
  double fitting = kNone;
  for (std::size_t choice = 0; choice < choices.size(); ++choice) {
    const std::vector<TeamsOfType> teams = teams_of(counts, types, layout, choice);
    if (teams.empty()) continue;
    const double seconds = least_seconds(teams, shape_of(layout, choices[choice].choice));
    any = std::min(any, seconds);
    if (seconds < fitting && may_fit(teams, choices[choice], layout)) fitting = seconds;
  }
  out.seconds = std::max(out.seconds, std::isfinite(fitting) ? fitting : any);
  return out;
}

ClusterBound::Least ClusterBound::least(const NodeCounts& counts, const Strategy& layout, std::size_t choice) {
  Least out = with(counts, [&](const OfType& type) { return type.in.at(sizes_of(layout)).with[choice].rate; });
  if (!loops_ || !std::isfinite(out.seconds)) return out;
  const Types& types = of_types(counts);
  const Strategy& blocks = types.front()->in.at(sizes_of(layout)).with[choice].choice;
  out.seconds = std::max(out.seconds, least_seconds(teams_of(counts, types, layout, choice), shape_of(layout, blocks)));
  return out;
}

}  // namespace mirfak
