#include "program/replica_teams.hpp"

namespace mirfak {

ReplicaTeams::ReplicaTeams(Program& program, RankGroups& groups, const Job& job, std::span<const StagePlan> plans,
                           bool unfolded)
    : plans_(plans),
      folded_(!unfolded),
      stages_(job.strategy.pipeline),
      classes_(classes_of(plans)),
      lanes_(unfolded ? job.strategy.team() * job.strategy.expert_span().data : 1),
      tensor_lanes_(unfolded ? job.strategy.tensor : 1),
      class_of_(static_cast<std::size_t>(unfolded ? job.strategy.data / job.strategy.expert_span().data : classes_)),
      members_(static_cast<std::size_t>(classes_)) {
  const int together = job.strategy.expert_span().data;  // replicas of a team, all of one class
  std::vector<int> data_of(class_of_.size());            // of each team, its first place in the data-parallel group
  for (const StagePlan& plan : plans_of(plans, 0)) {
    auto& members = members_[static_cast<std::size_t>(plan.replica_class)];
    if (!unfolded) members = {plan.replica_class};
    for (const int replica : plan.replicas.replicas) {
      if (unfolded && replica % together == 0) members.push_back(replica / together);
    }
    for (const int team : members) {
      class_of_[static_cast<std::size_t>(team)] = plan.replica_class;
      data_of[static_cast<std::size_t>(team)] = unfolded ? team * together : plan.replicas.first();
    }
  }
  for (int stage = 0; stage < stages_; ++stage) {
    for (int replica = 0; replica < replicas(); ++replica) {
      add_team(program, groups, job, stage, replica, data_of[static_cast<std::size_t>(replica)]);
    }
  }
}

void ReplicaTeams::add_team(Program& program, RankGroups& groups, const Job& job, int stage, int replica, int data) {
  const std::size_t plan = index(stage, class_of(replica));
  const auto alike = static_cast<std::uint32_t>(plans_[plan].replicas.count() * job.strategy.team());
  std::vector<std::uint32_t> ranks;
  for (int lane = 0; lane < lanes_; ++lane) {
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
