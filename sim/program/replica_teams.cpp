#include "program/replica_teams.hpp"

namespace mirfak {

ReplicaTeams::ReplicaTeams(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
                           std::span<const StagePlan> plans, bool unfolded)
    : plans_(plans), folded_(!unfolded), classes_(classes_of(plans)) {
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    add_stage(program, groups, job_at(job, blocks, stage), stage);
  }
}

void ReplicaTeams::add_stage(Program& program, RankGroups& groups, const Job& job, int stage) {
  const Strategy& s = job.strategy;
  const int together = s.expert_span().data;  // replicas of a team, all of one class
  Stage& own = stages_.emplace_back();
  own.lanes = folded_ ? 1 : s.team() * together;
  own.tensor_lanes = folded_ ? 1 : s.tensor;
  own.first_team = teams_.size();
  own.first_rank = program.ranks.size();
  own.class_of.resize(static_cast<std::size_t>(folded_ ? classes_ : s.data / together));
  own.members.resize(static_cast<std::size_t>(classes_));
  std::vector<int> data_of(own.class_of.size());  // of each team, its first place in the data-parallel group
  for (const StagePlan& plan : plans_of(plans_, stage)) {
    auto& members = own.members[static_cast<std::size_t>(plan.replica_class)];
    if (folded_) members = {plan.replica_class};
    for (const int replica : plan.replicas.replicas) {
      if (!folded_ && replica % together == 0) members.push_back(replica / together);
    }
    for (const int team : members) {
      own.class_of[static_cast<std::size_t>(team)] = plan.replica_class;
      data_of[static_cast<std::size_t>(team)] = folded_ ? plan.replicas.first() : team * together;
    }
  }
  for (int replica = 0; replica < replicas(stage); ++replica) {
    add_team(program, groups, job, stage, replica, data_of[static_cast<std::size_t>(replica)]);
  }
}

void ReplicaTeams::add_team(Program& program, RankGroups& groups, const Job& job, int stage, int replica, int data) {
  const std::size_t plan = index(stage, class_of(stage, replica));
  const auto alike = static_cast<std::uint32_t>(plans_[plan].replicas.count() * job.strategy.team());
  std::vector<std::uint32_t> ranks;
  for (int lane = 0; lane < lanes(stage); ++lane) {
    const int member = lane % job.strategy.team();
    const int own = data + lane / job.strategy.team();
    ranks.push_back(static_cast<std::uint32_t>(program.ranks.size()));
    program.ranks.push_back({static_cast<std::uint32_t>(job.rank_of(stage, own, member)),
                             static_cast<std::uint32_t>(stage),
                             static_cast<std::uint32_t>(member % job.strategy.tensor),
                             static_cast<std::uint32_t>(member / job.strategy.tensor), static_cast<std::uint32_t>(own),
                             folded_ ? alike : 1, static_cast<std::uint32_t>(plan)});
  }
  teams_.emplace_back(program, groups, ranks);
}

}  // namespace mirfak
