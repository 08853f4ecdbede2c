#include "program/rank_factors.hpp"

#include "sharding/axis_rules.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace mirfak {

ActivityFactors by_activity(const TimeFactors& factors) {
  ActivityFactors out;
  for (std::size_t i = 0; i < kActivities; ++i) {
    const std::optional<std::size_t> factor = time_factor_of(static_cast<Activity>(i));
    out[i] = factor ? factors.*kTimeFactorKeys[*factor].value : 1;
  }
  return out;
}

TimeFactors larger(const TimeFactors& a, const TimeFactors& b) {
  return {std::max(a.compute, b.compute), std::max(a.communication, b.communication), std::max(a.host, b.host)};
}

ActivityFactors larger(const ActivityFactors& a, const ActivityFactors& b) {
  ActivityFactors out;
  for (std::size_t i = 0; i < kActivities; ++i) out[i] = std::max(a[i], b[i]);
  return out;
}

std::vector<RankFactors> factors_of_ranks(const Program& program, const Cluster& cluster) {
  std::vector<RankFactors> out;
  for (const ProgramRank& rank : program.ranks) {
    out.push_back(cluster.perturbations().of(static_cast<int>(rank.rank)));
  }
  return out;
}

std::vector<RankFactors> largest_factors(const Program& program, const Job& job, std::span<const StagePlan> plans) {
  RealGroups real(program, job, plans, true);
  real.number_ranks();
  std::vector<RankFactors> out(program.ranks.size(), {{0, 0, 0}, 0});
  for (const ProgramRank& rank : real.cluster_ranks()) {
    RankFactors& most = out[real.standing_for(static_cast<int>(rank.rank))];
    const RankFactors own = job.cluster.perturbations().of(static_cast<int>(rank.rank));
    most = {larger(most.time, own.time), std::max(most.port, own.port)};
  }
  return out;
}

bool leaves_node(const Program& program, const Group& group, const Cluster& cluster) {
  const auto node = [&](std::uint32_t rank) {
    return cluster.place_of(static_cast<int>(program.ranks[rank].rank)).node;
  };
  const int first = node(group.ranks.front());
  return std::any_of(group.ranks.begin(), group.ranks.end(), [&](std::uint32_t rank) { return node(rank) != first; });
}

namespace {

bool on_several_nodes(const RealGroups::Members& members, const Cluster& cluster) {
  const int first = cluster.place_of(members.of_stage.front()).node;
  const auto elsewhere = [&](int rank) { return cluster.place_of(rank).node != first; };
  return std::any_of(members.of_stage.begin(), members.of_stage.end(), elsewhere) ||
         std::any_of(members.others.begin(), members.others.end(), elsewhere);
}

}  // namespace

bool leaves_node(RealGroups& real, const Program& program, GroupingId grouping, GroupId group, const Cluster& cluster) {
  bool out = false;
  const auto stage = static_cast<int>(program.ranks[program.groups[group].ranks.front()].stage);
  real.for_each(grouping, group, stage,
                [&](const RealGroups::Members& members) { out = out || on_several_nodes(members, cluster); });
  return out;
}

namespace {

// Exchanges between the ranks of a pass, and the axes of the mesh that they go over.
std::array<std::pair<Activity, MeshAxisSet>, 3> exchanges_of(const Strategy& strategy) {
  return {{{Activity::tensor_communication, MeshAxisSet(MeshAxis::tensor)},
           {Activity::context_communication, context_axes(strategy)},
           {Activity::expert_communication, expert_axes(strategy)}}};
}

}  // namespace

std::vector<LeavesNode> exchanges_that_leave(const Program& program, RankGroups& groups, const Job& job,
                                             RealGroups* real) {
  std::vector<LeavesNode> out(program.ranks.size(), LeavesNode{});
  std::map<GroupId, bool> known;
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    const Strategy strategy = job.strategy.at(static_cast<int>(program.ranks[rank].stage));
    for (const auto& [activity, axes] : exchanges_of(strategy)) {
      const GroupingId grouping = groups.over(axes, strategy);
      const GroupId group = grouping == kAlone ? kNoGroup : program.groupings[grouping].of_rank[rank];
      if (group == kNoGroup) continue;
      const auto [leaves, is_new] = known.try_emplace(group, false);
      if (is_new) {
        leaves->second = real != nullptr ? leaves_node(*real, program, grouping, group, job.cluster)
                                         : leaves_node(program, program.groups[group], job.cluster);
      }
      out[rank][static_cast<std::size_t>(activity)] = leaves->second;
    }
  }
  return out;
}

ActivityFactors factors_in_passes(const RankFactors& of, const LeavesNode& leaves) {
  ActivityFactors out = by_activity(of.time);
  for (const Activity activity :
       {Activity::tensor_communication, Activity::context_communication, Activity::expert_communication}) {
    const auto at = static_cast<std::size_t>(activity);
    if (leaves[at]) out[at] *= of.port;
  }
  return out;
}

}  // namespace mirfak
