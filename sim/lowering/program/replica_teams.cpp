#include "program/replica_teams.hpp"

namespace mirfak {

ReplicaTeams::ReplicaTeams(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
                           std::span<const StagePlan> plans, bool unfolded)
    : plans_(plans), unfolded_(unfolded), one_lane_(!unfolded && !program.whole_teams), classes_(classes_of(plans)) {
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    add_stage(program, groups, job_at(job, blocks, stage), stage);
  }
}

void ReplicaTeams::add_stage(Program& program, RankGroups& groups, const Job& job, int stage) {
  const Strategy& s = job.strategy;
  const int together = s.expert_span().data;  // replicas of a team, all in one class
  Stage& own = stages_.emplace_back();
  own.lanes = one_lane_ ? 1 : s.team() * together;
  own.tensor_lanes = one_lane_ ? 1 : s.tensor;
  own.first_team = teams_.size();
  own.first_rank = program.ranks.size();
  own.members.resize(static_cast<std::size_t>(classes_));
  std::vector<ReplicaKind> teams(unfolded_ ? static_cast<std::size_t>(s.data / together) : 0);
  own.class_of.resize(teams.size());
  for (const StagePlan& plan : plans_of(plans_, stage)) {
    auto& members = own.members[static_cast<std::size_t>(plan.replica_class)];
    for (const int replica : plan.replicas.replicas) {
      if (!unfolded_ || replica % together != 0) continue;
      members.push_back(replica / together);
      teams[static_cast<std::size_t>(replica / together)] = {replica, together};
      own.class_of[static_cast<std::size_t>(replica / together)] = plan.replica_class;
    }
    if (unfolded_) continue;
    for (const ReplicaKind& kind : kinds_within(plan, program.kind_of_replica)) {
      members.push_back(static_cast<int>(teams.size()));
      teams.push_back(kind);
      own.class_of.push_back(plan.replica_class);
    }
  }
  for (int replica = 0; replica < replicas(stage); ++replica) {
    add_team(program, groups, job, stage, replica, teams[static_cast<std::size_t>(replica)]);
  }
}

void ReplicaTeams::add_team(Program& program, RankGroups& groups, const Job& job, int stage, int replica,
                            const ReplicaKind& kind) {
  const std::size_t plan = index(stage, class_of(stage, replica));
  // Number of the replicas' ranks that each lane stands for.
  const auto alike = static_cast<std::uint32_t>(kind.count * job.strategy.team() / lanes(stage));
  std::vector<std::uint32_t> ranks;
  for (int lane = 0; lane < lanes(stage); ++lane) {
    const int member = lane % job.strategy.team();
    const int own = kind.first + lane / job.strategy.team();
    ranks.push_back(static_cast<std::uint32_t>(program.ranks.size()));
    program.ranks.push_back({static_cast<std::uint32_t>(job.rank_of(stage, own, member)),
                             static_cast<std::uint32_t>(stage),
                             static_cast<std::uint32_t>(member % job.strategy.tensor),
                             static_cast<std::uint32_t>(member / job.strategy.tensor), static_cast<std::uint32_t>(own),
                             alike, static_cast<std::uint32_t>(plan)});
  }
  teams_.emplace_back(program, groups, ranks);
}

}  // namespace mirfak
