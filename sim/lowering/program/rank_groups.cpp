#include "program/rank_groups.hpp"

#include "sharding/axis_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace mirfak {

namespace {

GroupKind kind_over(MeshAxisSet axes, const Strategy& strategy) {
  if (axes == MeshAxisSet(MeshAxis::tensor)) return GroupKind::tensor;
  if (is_of_context(axes)) return GroupKind::context;
  return axes == expert_axes(strategy) ? GroupKind::expert : GroupKind::team;
}

GroupKind kind_among(ReplicaGroup replicas) {
  switch (replicas) {
    case ReplicaGroup::shard:
      return GroupKind::shard;
    case ReplicaGroup::across:
      return GroupKind::across;
    case ReplicaGroup::experts:
      return GroupKind::expert_data;
    case ReplicaGroup::second:
      return GroupKind::second_copy;
    case ReplicaGroup::node:
      return GroupKind::node;
    case ReplicaGroup::between_nodes:
      return GroupKind::between_nodes;
    case ReplicaGroup::weights:
      return GroupKind::weights;
    case ReplicaGroup::weight_copies:
      return GroupKind::weight_copies;
    case ReplicaGroup::expert_weights:
      return GroupKind::expert_weights;
    case ReplicaGroup::expert_weight_copies:
      return GroupKind::expert_weight_copies;
    case ReplicaGroup::all:
      break;
  }
  return GroupKind::data;
}

using Key = std::array<std::uint32_t, 4>;

}  // namespace

RankGroups::RankGroups(Program& program, const Job& job, bool folded) : program_(program), job_(job), folded_(folded) {
  for (int stage = 0; stage < static_cast<int>(job.strategy.stages.size()); ++stage) {
    of_stages_.push_back(job.strategy.at(stage));
    meshes_.push_back(mesh_of(of_stages_.back()));
  }
  if (meshes_.empty()) meshes_.push_back(mesh_of(job.strategy));
}

const Strategy& RankGroups::strategy_of(const ProgramRank& rank) const {
  return of_stages_.empty() ? job_.strategy : of_stages_[rank.stage];
}

const DeviceMesh& RankGroups::mesh_for(const ProgramRank& rank) const {
  return of_stages_.empty() ? meshes_.front() : meshes_[rank.stage];
}

template <class SizeOf, class KeyOf>
GroupingId RankGroups::divide(const Name& name, const SizeOf& size_of, const KeyOf& key_of) {
  const auto [known, added] = known_.try_emplace(name, static_cast<GroupingId>(program_.groupings.size()));
  if (!added) return known->second;
  const GroupKind kind = name.first;
  std::vector<std::pair<Key, std::uint32_t>> places;
  for (std::uint32_t rank = 0; rank < program_.ranks.size(); ++rank) {
    if (const std::optional<Key> key = key_of(program_.ranks[rank])) places.emplace_back(*key, rank);
  }
  std::sort(places.begin(), places.end());
  Grouping& grouping = program_.groupings.emplace_back();
  grouping.kind = kind;
  grouping.which = name.second;
  grouping.first = static_cast<GroupId>(program_.groups.size());
  grouping.of_rank.assign(program_.ranks.size(), kNoGroup);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i == 0 || places[i].first != places[i - 1].first) {
      program_.groups.push_back({kind, static_cast<std::uint32_t>(size_of(program_.ranks[places[i].second])), {}});
    }
    program_.groups.back().ranks.push_back(places[i].second);
    grouping.of_rank[places[i].second] = static_cast<GroupId>(program_.groups.size() - 1);
  }
  grouping.count = static_cast<std::uint32_t>(program_.groups.size()) - grouping.first;
  return known->second;
}

GroupingId RankGroups::over(MeshAxisSet axes, const Strategy& own) {
  if (axes.empty()) return kAlone;
  int bits = 0;  // identifies the division: teams may have several
  for (const MeshAxis axis : meshes_.front().axes()) bits = 2 * bits + (axes.contains(axis) ? 1 : 0);
  const auto size_of = [&](const ProgramRank& rank) { return mesh_for(rank).size(axes); };
  const auto key_of = [&](const ProgramRank& rank) {
    const int expert = axes.contains(MeshAxis::expert) ? mesh_for(rank).size(MeshAxis::expert) : 1;
    const auto heads = static_cast<std::uint32_t>(strategy_of(rank).context_heads);
    const std::uint32_t of_heads = axes.contains(MeshAxis::heads) ? 0 : rank.context % heads;
    const std::uint32_t of_context = axes.contains(MeshAxis::context) ? 0 : rank.context / heads;
    return std::optional(Key{rank.stage, rank.data / static_cast<std::uint32_t>(expert), of_context * heads + of_heads,
                             axes.contains(MeshAxis::tensor) ? 0 : rank.tensor});
  };
  return divide({kind_over(axes, own), {bits, 0}}, size_of, key_of);
}

GroupingId RankGroups::among(ReplicaGroup replicas) {
  const auto of_node = static_cast<std::uint32_t>(job_.strategy.quantized_reductions ? job_.places_in_node() : 1);
  const auto key_of = [&](const ProgramRank& rank) -> std::optional<Key> {
    const Strategy& s = strategy_of(rank);
    const ExpertSpan span = s.expert_span();
    const auto shards = static_cast<std::uint32_t>(s.shards());
    const auto sharing = static_cast<std::uint32_t>(span.data);
    const std::uint32_t member = rank.data * static_cast<std::uint32_t>(s.context) + rank.context;
    const auto weights = static_cast<std::uint32_t>(s.weight_group());
    const auto expert_weights = static_cast<std::uint32_t>(s.expert_weight_group());
    switch (replicas) {
      case ReplicaGroup::shard:
        return Key{rank.stage, rank.tensor, s.shards() == s.replicas() ? 0 : member / shards, 0};
      case ReplicaGroup::across:
        return Key{rank.stage, rank.tensor, folded_ ? 0 : member % shards, 0};
      case ReplicaGroup::experts:
        return Key{rank.stage, rank.tensor, folded_ ? 0 : rank.data % sharing, span.context ? rank.context : 0};
      case ReplicaGroup::second:
        return Key{rank.stage, rank.tensor, member / static_cast<std::uint32_t>(s.zero_second_group), 0};
      case ReplicaGroup::node:
        return Key{rank.stage, rank.tensor, member / of_node, 0};
      case ReplicaGroup::between_nodes:
        return Key{rank.stage, rank.tensor, folded_ ? 0 : member % of_node, 0};
      case ReplicaGroup::weights:
        return Key{rank.stage, rank.tensor, member / weights, 0};
      case ReplicaGroup::weight_copies:
        return Key{rank.stage, rank.tensor, folded_ ? 0 : member % weights, 0};
      case ReplicaGroup::expert_weights:
        return Key{rank.stage, rank.tensor, rank.data % sharing, rank.data / sharing / expert_weights};
      case ReplicaGroup::expert_weight_copies:
        return Key{rank.stage, rank.tensor, folded_ ? 0 : rank.data % sharing,
                   folded_ ? 0 : rank.data / sharing % expert_weights};
      case ReplicaGroup::all:
        break;
    }
    return Key{rank.stage, rank.tensor, 0, 0};
  };
  const auto size_of = [&](const ProgramRank& rank) {
    const Strategy& s = strategy_of(rank);
    switch (replicas) {
      case ReplicaGroup::shard:
        return s.shards();
      case ReplicaGroup::across:
        return s.replicas() / s.shards();
      case ReplicaGroup::experts:
        return s.expert_replicas();
      case ReplicaGroup::second:
        return s.zero_second_group;
      case ReplicaGroup::node:
        return static_cast<int>(of_node);
      case ReplicaGroup::between_nodes:
        return s.replicas() / static_cast<int>(of_node);
      case ReplicaGroup::weights:
        return s.weight_group();
      case ReplicaGroup::weight_copies:
        return s.replicas() / s.weight_group();
      case ReplicaGroup::expert_weights:
        return s.expert_weight_group();
      case ReplicaGroup::expert_weight_copies:
        return s.expert_replicas() / s.expert_weight_group();
      case ReplicaGroup::all:
        break;
    }
    return s.replicas();
  };
  return divide({kind_among(replicas), {}}, size_of, key_of);
}

// Stages of different shape have different numbers of ranks in a group (sharding/cross_mesh.hpp).
GroupingId RankGroups::between(GroupKind kind, int stage, int other) {
  const auto [first, second] = std::minmax(stage, other);
  const StageShape a = job_.strategy.shape_of(first);
  const StageShape b = job_.strategy.shape_of(second);
  const StageShape groups{std::min(a.tensor, b.tensor), std::min(a.data, b.data), 1};
  const int size =
      a.tensor / groups.tensor * (a.data / groups.data) + b.tensor / groups.tensor * (b.data / groups.data);
  const auto key_of = [&, first = first, second = second](const ProgramRank& rank) -> std::optional<Key> {
    const auto own = static_cast<int>(rank.stage);
    if (own != first && own != second) return std::nullopt;
    const StageShape& shape = own == first ? a : b;
    return Key{rank.data / static_cast<std::uint32_t>(shape.data / groups.data), rank.context,
               rank.tensor / static_cast<std::uint32_t>(shape.tensor / groups.tensor), 0};
  };
  return divide(
      {kind, {first, second}}, [&](const ProgramRank& /*rank*/) { return size; }, key_of);
}

GroupingId RankGroups::all() {
  return divide(
      {GroupKind::all, {}}, [&](const ProgramRank& /*rank*/) { return job_.strategy.ranks(); },
      [](const ProgramRank&) { return std::optional(Key{}); });
}

GroupingId RankGroups::like(const Grouping& other) {
  const auto [first, second] = other.which;
  switch (other.kind) {
    case GroupKind::data:
      return among(ReplicaGroup::all);
    case GroupKind::shard:
      return among(ReplicaGroup::shard);
    case GroupKind::across:
      return among(ReplicaGroup::across);
    case GroupKind::expert_data:
      return among(ReplicaGroup::experts);
    case GroupKind::second_copy:
      return among(ReplicaGroup::second);
    case GroupKind::node:
      return among(ReplicaGroup::node);
    case GroupKind::between_nodes:
      return among(ReplicaGroup::between_nodes);
    case GroupKind::weights:
      return among(ReplicaGroup::weights);
    case GroupKind::weight_copies:
      return among(ReplicaGroup::weight_copies);
    case GroupKind::expert_weights:
      return among(ReplicaGroup::expert_weights);
    case GroupKind::expert_weight_copies:
      return among(ReplicaGroup::expert_weight_copies);
    case GroupKind::transfer:
    case GroupKind::tied_embedding:
    case GroupKind::part:
      return between(other.kind, first, second);
    case GroupKind::all:
      return all();
    default:
      break;
  }
  MeshAxisSet axes;
  const MeshAxisSet order = meshes_.front().axes();
  int bit = 1;
  for ([[maybe_unused]] const MeshAxis axis : order) bit *= 2;
  for (const MeshAxis axis : order) {
    bit /= 2;
    if ((first & bit) != 0) axes.insert(axis);
  }
  return over(axes, job_.strategy);
}

TaskId RankGroups::meet(GroupingId grouping, GroupId group, StreamKind stream, std::span<const TaskId> after,
                        std::int32_t microbatch) {
  const auto [described, is_new] = meeting_classes_.try_emplace(grouping, 0);
  if (is_new) {
    TaskClass meeting;
    meeting.kind = TaskKind::meeting;
    meeting.name = fmt::format("ranks meet ({})", name_of(program_.groupings[grouping].kind));
    meeting.grouping = grouping;
    described->second = program_.add_class(std::move(meeting));
  }
  const auto [meetings, first] = meeting_streams_.try_emplace({group, stream}, 0);
  if (first) meetings->second = program_.add_stream(ranks_of(group).front(), StreamKind::group);
  return program_.add_task(meetings->second, described->second, 0, after, microbatch);
}

}  // namespace mirfak
