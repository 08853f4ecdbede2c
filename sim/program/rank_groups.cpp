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
  if (axes == MeshAxisSet(MeshAxis::context)) return GroupKind::context;
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
    case ReplicaGroup::all:
      break;
  }
  return GroupKind::data;
}

using Key = std::array<std::uint32_t, 4>;

}  // namespace

template <class KeyOf>
GroupingId RankGroups::divide(const Name& name, int size, const KeyOf& key_of) {
  const auto [known, added] = known_.try_emplace(name, static_cast<GroupingId>(program_.groupings.size()));
  if (!added) return known->second;
  const GroupKind kind = std::get<GroupKind>(name);
  std::vector<std::pair<Key, std::uint32_t>> places;
  for (std::uint32_t rank = 0; rank < program_.ranks.size(); ++rank) {
    if (const std::optional<Key> key = key_of(program_.ranks[rank])) places.emplace_back(*key, rank);
  }
  std::sort(places.begin(), places.end());
  Grouping& grouping = program_.groupings.emplace_back();
  grouping.kind = kind;
  grouping.of_rank.assign(program_.ranks.size(), kNoGroup);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i == 0 || places[i].first != places[i - 1].first) {
      program_.groups.push_back({kind, static_cast<std::uint32_t>(size), {}});
    }
    program_.groups.back().ranks.push_back(places[i].second);
    grouping.of_rank[places[i].second] = static_cast<GroupId>(program_.groups.size() - 1);
  }
  return known->second;
}

GroupingId RankGroups::over(MeshAxisSet axes) {
  if (axes.empty()) return kAlone;
  const DeviceMesh mesh = mesh_of(job_.strategy);
  int bits = 0;  // of teams there may be several divisions
  for (const MeshAxis axis : mesh.axes()) bits = 2 * bits + (axes.contains(axis) ? 1 : 0);
  return divide(
      {kind_over(axes, job_.strategy), bits, 0}, static_cast<int>(mesh.size(axes)), [&](const ProgramRank& rank) {
        const auto divided =
            static_cast<std::uint32_t>(axes.contains(MeshAxis::expert) ? mesh.size(MeshAxis::expert) : 1);
        return std::optional(Key{rank.stage, rank.data / divided, axes.contains(MeshAxis::context) ? 0 : rank.context,
                                 axes.contains(MeshAxis::tensor) ? 0 : rank.tensor});
      });
}

GroupingId RankGroups::among(ReplicaGroup replicas) {
  const Strategy& s = job_.strategy;
  const auto contexts = static_cast<std::uint32_t>(s.context);
  const auto shards = static_cast<std::uint32_t>(s.shards());
  const bool one_copy = s.shards() == s.replicas();
  const ExpertSpan span = s.expert_span();
  const auto sharing = static_cast<std::uint32_t>(span.data);
  const auto key_of = [&](const ProgramRank& rank) -> std::optional<Key> {
    const std::uint32_t member = rank.data * contexts + rank.context;
    switch (replicas) {
      case ReplicaGroup::shard:
        return Key{rank.stage, rank.tensor, one_copy ? 0 : member / shards, 0};
      case ReplicaGroup::across:
        return Key{rank.stage, rank.tensor, folded_ ? 0 : member % shards, 0};
      case ReplicaGroup::experts:
        return Key{rank.stage, rank.tensor, folded_ ? 0 : rank.data % sharing, span.context ? rank.context : 0};
      case ReplicaGroup::all:
        break;
    }
    return Key{rank.stage, rank.tensor, 0, 0};
  };
  const auto size = [&] {
    switch (replicas) {
      case ReplicaGroup::shard:
        return s.shards();
      case ReplicaGroup::across:
        return s.replicas() / s.shards();
      case ReplicaGroup::experts:
        return s.expert_replicas();
      case ReplicaGroup::all:
        break;
    }
    return s.replicas();
  };
  return divide({kind_among(replicas), 0, 0}, size(), key_of);
}

GroupingId RankGroups::between(GroupKind kind, int stage, int other) {
  const auto [first, second] = std::minmax(stage, other);
  return divide({kind, first, second}, 2, [&, a = first, b = second](const ProgramRank& rank) -> std::optional<Key> {
    const auto own = static_cast<int>(rank.stage);
    if (own != a && own != b) return std::nullopt;
    return Key{rank.data, rank.context, rank.tensor, 0};
  });
}

GroupingId RankGroups::all() {
  return divide({GroupKind::all, 0, 0}, static_cast<int>(job_.strategy.ranks()),
                [](const ProgramRank&) { return std::optional(Key{}); });
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
