#include "plan/cluster_bound.hpp"

#include "base/error.hpp"
#include "plan/layout.hpp"
#include "program/data_parallel.hpp"
#include "program/memory.hpp"
#include "program/quantization_of_job.hpp"
#include "program/stage_plan.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// Returns true if the ranks of a stage are consecutive and the next stage's follow: types then fill one stage after the
// other.
bool stages_follow(Job job, const Strategy& others) {
  job.strategy = others;
  job.strategy.stages.clear();
  job.strategy.pipeline = 2;
  job.strategy.data = 2;
  return job.rank_of(1, 0, 0) == job.strategy.data * job.strategy.team();
}

// Returns the types in one of their orders, numbered as in_every_order() numbers them.
std::vector<TeamsOfType> in_order(std::vector<TeamsOfType> types, std::uint32_t order) {
  std::vector<std::size_t> places(types.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (; order > 0; --order) std::next_permutation(places.begin(), places.end());
  std::vector<TeamsOfType> out;
  for (const std::size_t place : places) out.push_back(types[place]);
  return out;
}

// Returns the rate of the teams of each stage, in passes of the whole model per second, if types fill one stage after
// the other.
std::vector<double> stage_rates(std::span<const TeamsOfType> types, const Strategy& layout) {
  std::vector<double> out(static_cast<std::size_t>(layout.pipeline));
  std::size_t stage = 0;
  double room = layout.data;  // teams that the stage still takes
  for (const TeamsOfType& type : types) {
    for (double left = type.teams; left > 0 && stage < out.size();) {
      const double here = std::min(left, room);
      out[stage] += here / type.seconds;
      left -= here;
      room -= here;
      if (room > 0) continue;
      room = layout.data;
      ++stage;
    }
  }
  return out;
}

// Returns the smallest job of one stage with these blocks; nothing if there is none.
std::optional<Job> smallest_job(const Job& job, const Strategy& choice) {
  Job out = job;
  out.strategy = choice;
  out.strategy.pipeline = 1;
  out.strategy.data = choice.expert_span().data;
  out.training.global_batch = std::int64_t{choice.micro_batch} * out.strategy.data;
  const auto gpus = static_cast<int>(out.strategy.ranks());
  const NodeGroup& nodes = out.cluster.groups().front();
  if (gpus > nodes.gpus()) return std::nullopt;
  if (first_violation({out.model, out.training, out.framework, out.strategy, gpus})) return std::nullopt;
  return out;
}

}  // namespace

ClusterBound::ClusterBound(const Job& job, const StrategySpace& space, const StateChoices& states,
                           const MemoryLimit& limit, SharedBlocks& shared, const EnergyAsked& energy)
    : job_(job),
      space_(space),
      shared_(shared),
      energy_(energy),
      states_(states),
      limit_(limit),
      plain_(space.plain()),
      loops_(space.loops()),
      stages_follow_(stages_follow(job, space.others)) {}

void ClusterBound::PerSequence::lower_to(const PerSequence& other) {
  seconds = std::min(seconds, other.seconds);
  joules = std::min(joules, other.joules);
}

ClusterBound::Sizes ClusterBound::sizes_of(const Strategy& layout) {
  return {layout.tensor, layout.context, layout.expert, layout.expert_tensor};
}

// Teams that divide the GPUs of a node, or take whole nodes, lie nowhere better than in the smallest job, whose nodes
// are the first of their type: nowhere does the communication of a team's blocks take less. Other teams are bounded by
// their kernels.
ClusterBound::OfBlocks ClusterBound::of_blocks(const Job& job, const Strategy& choice) {
  const std::optional<Job> smallest = smallest_job(job, choice);
  if (!smallest) return {{}, choice};
  const LayoutCosts costs(*smallest, smallest->strategy);
  const std::shared_ptr<LayerBound> layers = shared_.layers_of(*smallest);
  const auto terms = layers->on(*smallest, costs.costs.front(), energy_);
  const NodeSpec& node = costs.costs.front().hardware->hardware.spec;
  const int team = choice.team();
  const bool within_nodes = std::min(node.gpus, node.scale_up_domain) % team == 0 && node.gpus % team == 0;
  const bool alike = plain_ && choice.expert == 1 && (within_nodes || team % node.gpus == 0);
  const double seconds = alike ? to_seconds(terms->device.back()) : terms->kernels_s;
  const double share = static_cast<double>(team) / choice.micro_batch;
  return {{seconds * share, terms->energy_j * share}, choice, layers, terms->of_each > 0};
}

// Returns the bounds of each type that is used.
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

// Returns the bounds of a type, on nodes of the type that lie before all others.
ClusterBound::OfType& ClusterBound::of_type(const NodeCounts& counts, std::size_t type) {
  std::vector<NodeAllotment> nodes;
  nodes.emplace_back(job_.cluster.groups()[type]);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0 && i != type) nodes.emplace_back(job_.cluster.groups()[i]);
  }
  // Nowhere is a team better off than in a node that is full of its kind of GPU.
  for (NodeAllotment& allotment : nodes) allotment.hardware.spec.part = {};
  Job job = job_;
  job.cluster = Cluster(std::move(nodes), job_.cluster.fabric());
  const auto [known, is_new] =
      of_type_.try_emplace({StageHardware(job.cluster.groups().front().hardware.spec), BlockHardware(job)});
  OfType& out = known->second;
  if (!is_new) return out;
  try {
    out.job = std::make_shared<const Job>(job);
    rate(out, job);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    out.any = out.any_shape = {};
    out.in.clear();
    out.job = nullptr;
    out.reason = error.message();
  }
  return out;
}

// The fastest choice and the choice of least energy need not be the same.
void ClusterBound::rate(OfType& out, const Job& job) {
  const GpuSpec& gpu = job.cluster.groups().front().hardware.gpu;
  if (const auto obstacle = format_obstacle(gpu, job)) fail_infeasible({}, obstacle->message);
  for (const Strategy& sizes : group_sizes(space_)) {
    std::vector<OfBlocks>& in = out.in[sizes_of(sizes)];
    for (const Strategy& choice : block_choices(space_, sizes, job_.framework)) {
      out.any.lower_to(in.emplace_back(of_blocks(job, choice)).rate);
    }
    if (space_.stages == StageShapes::by_type && sizes.context == 1) out.any_shape.lower_to(of_any_shape(job, sizes));
  }
}

// A replica may have any number of a microbatch's sequences that divides the batch.
ClusterBound::PerSequence ClusterBound::of_any_shape(const Job& job, const Strategy& sizes) {
  StrategySpace space = space_;
  const int fewest = *std::min_element(space.micro_batch.begin(), space.micro_batch.end());
  space.micro_batch.clear();
  for (int sequences = fewest; sequences <= job_.training.global_batch; ++sequences) {
    if (job_.training.global_batch % sequences == 0) space.micro_batch.push_back(sequences);
  }
  PerSequence out;
  for (const Strategy& choice : block_choices(space, sizes, job_.framework)) out.lower_to(of_blocks(job, choice).rate);
  return out;
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
  std::vector<WorkPlace> rates;
  auto type = of_types(counts).begin();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const NodeGroup& group = job_.cluster.groups()[i];
    rates.push_back(pick(**type++).on(static_cast<double>(counts[i]) * group.hardware.spec.gpus_of_kind()));
  }
  return least_of(std::move(rates));
}

// Returns the least if the sequences could be divided at will.
ClusterBound::Least ClusterBound::least_of(std::vector<WorkPlace> types) const {
  const auto sequences = static_cast<double>(job_.training.global_batch);
  double sequences_per_s = 0;
  for (const WorkPlace& type : types) {
    if (type.units_per_s == 0) return {};
    sequences_per_s += type.units_per_s;
  }
  merge_alike(types);
  const double working_j = least_energy(types, sequences, 0, 0) * kRounding;
  return {sequences / sequences_per_s * kRounding, working_j, std::move(types)};
}

ClusterBound::Least ClusterBound::least(const NodeCounts& counts) {
  if (space_.stages == StageShapes::fixed) return least_of_fixed(counts);
  const bool shaped = space_.stages == StageShapes::by_type && types_of(counts) > 1;
  return with(counts, [&](const OfType& type) {
    PerSequence out = type.any;
    if (shaped) out.lower_to(type.any_shape);
    return out;
  });
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

// Returns no teams if the blocks do not run on some type.
std::vector<TeamsOfType> ClusterBound::teams_of(const NodeCounts& counts, const Types& types, const Strategy& layout,
                                                std::size_t choice) const {
  std::vector<TeamsOfType> out;
  auto type = types.begin();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const OfBlocks& with = (*type++)->in.at(sizes_of(layout))[choice];
    if (!with.layers) return {};
    const NodeHardware& hardware = job_.cluster.groups()[i].hardware;
    const int team = layout.team();
    const double gpus = static_cast<double>(counts[i]) * hardware.spec.gpus_of_kind();
    out.push_back({gpus / team, with.rate.seconds * with.choice.micro_batch / team, bytes_of_model(hardware.gpu)});
  }
  return out;
}

LayerBytes ClusterBound::bytes_of(const OfBlocks& blocks, const Strategy& layout) {
  const bool gathers = gathers_in_passes(job_.framework, blocks.choice.zero);
  const double kept = blocks.layers->min_kept(blocks.choice, loops_);
  const double state = states_of_layers_.get({sizes_of(layout), gathers, layout.data}, [&] {
    Job job = job_;
    job.strategy = blocks.choice;
    job.strategy.pipeline = layout.pipeline;
    job.strategy.data = layout.data;
    return blocks.layers->min_state(job, states_[gathers ? 1 : 0]);
  });
  return {state, kept};
}

bool ClusterBound::may_fit(std::span<const TeamsOfType> teams, const OfBlocks& blocks, const Strategy& layout) {
  return layers_may_fit(teams, shape_of(layout, blocks.choice), bytes_of(blocks, layout));
}

bool ClusterBound::may_fit(const NodeCounts& counts, const Strategy& layout, std::size_t choice) {
  if (!layout.stages.empty()) {
    const Strategy blocks = block_choices(space_, layout, job_.framework)[choice];
    const auto stages = shaped_stages(counts, blocks);
    return !stages || shaped_may_fit(*stages, blocks);
  }
  const Types& types = of_types(counts);
  const std::vector<TeamsOfType> teams = teams_of(counts, types, layout, choice);
  return teams.empty() || may_fit(teams, types.front()->in.at(sizes_of(layout))[choice], layout);
}

ClusterBound::Least ClusterBound::least(const NodeCounts& counts, const Strategy& layout) {
  if (!layout.stages.empty()) return least_shaped(counts, layout);
  Least out = with(counts, [&](const OfType& type) {
    PerSequence best;
    for (const OfBlocks& choice : type.in.at(sizes_of(layout))) best.lower_to(choice.rate);
    return best;
  });
  if (!loops_ || !std::isfinite(out.seconds)) return out;
  const Types& types = of_types(counts);
  const std::vector<OfBlocks>& choices = types.front()->in.at(sizes_of(layout));
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
  if (!layout.stages.empty()) {
    const Strategy blocks = block_choices(space_, layout, job_.framework)[choice];
    const auto stages = shaped_stages(counts, blocks);
    return stages ? least_shaped(*stages, blocks) : Least();
  }
  Least out = with(counts, [&](const OfType& type) { return type.in.at(sizes_of(layout))[choice].rate; });
  if (!loops_ || !std::isfinite(out.seconds)) return out;
  const Types& types = of_types(counts);
  const Strategy& blocks = types.front()->in.at(sizes_of(layout))[choice].choice;
  out.seconds = std::max(out.seconds, least_seconds(teams_of(counts, types, layout, choice), shape_of(layout, blocks)));
  return out;
}

std::vector<double> ClusterBound::layer_seconds(const NodeCounts& counts, const Strategy& layout, std::size_t choice,
                                                std::uint32_t order, bool spread) {
  if (!loops_ || !stages_follow_ || !layout.stages.empty()) return {};
  const Types& types = of_types(counts);
  const OfBlocks& blocks = types.front()->in.at(sizes_of(layout))[choice];
  std::vector<TeamsOfType> teams = teams_of(counts, types, layout, choice);
  if (teams.empty() || !blocks.alike) return {};
  std::vector<double> rates;
  if (spread) {
    double all = 0;
    for (const TeamsOfType& of : teams) all += of.teams / of.seconds;
    rates.assign(static_cast<std::size_t>(layout.pipeline), all / layout.pipeline);
  } else {
    rates = stage_rates(in_order(std::move(teams), order), layout);
  }
  const double passes = static_cast<double>(job_.training.global_batch) / blocks.choice.micro_batch;
  for (double& rate : rates) rate = passes / rate / static_cast<double>(job_.model.layers) * kRounding;
  return rates;
}

// Returns the better of the layouts, which differ in how experts are divided.
ClusterBound::Least ClusterBound::least_of_fixed(const NodeCounts& counts) {
  Least out{kNone, kNone, {}};
  for (const Strategy& layout : layouts(space_, job_.cluster)) {
    Least of = least_shaped(counts, layout);
    if (!std::isfinite(of.seconds)) continue;
    out.seconds = std::min(out.seconds, of.seconds);
    out.working_j = std::min(out.working_j, of.working_j);
  }
  return out;
}

std::vector<StagesOfType> ClusterBound::stages_of(const NodeCounts& counts, const Strategy& layout) const {
  std::vector<std::int64_t> gpus;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) gpus.push_back(std::int64_t{counts[i]} * job_.cluster.groups()[i].hardware.spec.gpus_of_kind());
  }
  return stages_by_type(layout, gpus);
}

// `choice`: the strategy as one stage of the type sees it.
const ClusterBound::OfBlocks& ClusterBound::blocks_of_shape(OfType& type, const Strategy& choice) {
  Strategy alone = choice;
  alone.stages.clear();
  alone.data = alone.expert_span().data;
  return type.shaped.get(BlockFields(alone), [&] {
    return type.job ? of_blocks(*type.job, alone) : OfBlocks{{}, alone};
  });
}

// Returns nothing if a microbatch cannot be divided, or if a stage does not run on its type.
std::optional<std::vector<ClusterBound::ShapedStages>> ClusterBound::shaped_stages(const NodeCounts& counts,
                                                                                   const Strategy& choice) {
  const std::int64_t sequences = std::int64_t{choice.micro_batch} * choice.data;  // of a microbatch
  if (job_.training.global_batch % sequences != 0) return std::nullopt;
  const Types& types = of_types(counts);
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) used.push_back(i);
  }
  std::vector<ShapedStages> out;
  int stage = 0;
  for (const StagesOfType& of : stages_of(counts, choice)) {
    if (sequences % of.shape.data != 0) return std::nullopt;
    const OfBlocks& blocks = blocks_of_shape(*types[of.type], choice.at(stage));
    if (!blocks.layers) return std::nullopt;
    const NodeHardware& hardware = job_.cluster.groups()[used[of.type]].hardware;
    const double gpus = static_cast<double>(of.shape.tensor) * of.shape.data;
    out.push_back({of,
                   &blocks,
                   {static_cast<double>(of.stages), blocks.rate.seconds * static_cast<double>(sequences) / gpus,
                    bytes_of_model(hardware.gpu)}});
    stage += of.stages;
  }
  return out;
}

// A microbatch belongs to all replicas of such stages, which take turns with no others.
LayoutShape ClusterBound::shape_of_shaped(const Strategy& choice) const {
  LayoutShape shape = shape_of(choice, choice);
  shape.replicas = 1;
  shape.microbatches = static_cast<double>(job_.training.global_batch) / choice.micro_batch / choice.data;
  shape.max_chunks = 1;
  shape.even_chunks = true;
  return shape;
}

// The order of the types is open: each type is counted as if it were last, where the fewest microbatches are in flight.
bool ClusterBound::shaped_may_fit(std::span<const ShapedStages> stages, const Strategy& choice) {
  const LayoutShape shape = shape_of_shaped(choice);
  double layers = 0;
  int before = 0;
  for (const ShapedStages& of : stages) {
    const LayerBytes bytes = bytes_of(*of.blocks, choice.at(before));
    before += of.of.stages;
    for (int behind = 0; behind < of.of.stages; ++behind) {
      const double in_flight = std::min(shape.microbatches, static_cast<double>(behind + 1));
      layers += std::max(0.0, of.teams.usable_bytes) / (bytes.state + in_flight * bytes.kept);
    }
  }
  return layers >= static_cast<double>(shape.layers) * kRounding;
}

ClusterBound::Least ClusterBound::least_shaped(std::span<const ShapedStages> stages, const Strategy& choice) const {
  std::vector<WorkPlace> rates;
  std::vector<TeamsOfType> teams;
  for (const ShapedStages& of : stages) {
    rates.push_back(of.rate());
    teams.push_back(of.teams);
  }
  Least out = least_of(std::move(rates));
  if (loops_) out.seconds = std::max(out.seconds, least_seconds(teams, shape_of_shaped(choice)));
  return out;
}

// Returns the least with the best choice of blocks among those that may fit, and with the best of all choices on each
// type.
ClusterBound::Least ClusterBound::least_shaped(const NodeCounts& counts, const Strategy& layout) {
  std::vector<WorkPlace> best;
  double any = kNone;
  double fitting = kNone;
  for (const Strategy& choice : block_choices(space_, layout, job_.framework)) {
    const auto stages = shaped_stages(counts, choice);
    if (!stages) continue;
    best.resize(stages->size(), {0, kNone});
    for (std::size_t i = 0; i < best.size(); ++i) {
      const WorkPlace rate = (*stages)[i].rate();
      best[i].units_per_s = std::max(best[i].units_per_s, rate.units_per_s);
      best[i].joules_per_unit = std::min(best[i].joules_per_unit, rate.joules_per_unit);
    }
    const double seconds = least_shaped(*stages, choice).seconds;
    any = std::min(any, seconds);
    if (seconds < fitting && shaped_may_fit(*stages, choice)) fitting = seconds;
  }
  if (best.empty()) return {};
  Least out = least_of(std::move(best));
  out.seconds = std::max(out.seconds, std::isfinite(fitting) ? fitting : any);
  return out;
}

}  // namespace mirfak
