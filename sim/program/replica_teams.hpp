#pragma once

#include "program/job.hpp"
#include "program/program.hpp"
#include "program/stage_plan.hpp"
#include "program/team_writer.hpp"

#include <span>
#include <vector>

namespace mirfak {

// The ranks of a program with the writers of their tasks. An unfolded program has, for every stage, a team of all ranks
// of each data-parallel replica, or of the replicas that exchange experts' rows; a folded one has, for every stage and
// class of replicas, one team of one rank. Below, `replica` counts the teams of a stage: 0 <= replica < replicas().
class ReplicaTeams {
 public:
  // Adds the ranks to `program`, stage after stage, replica after replica, lane after lane. References must outlive
  // this.
  ReplicaTeams(Program& program, RankGroups& groups, const Job& job, std::span<const StagePlan> plans, bool unfolded);

  bool folded() const { return folded_; }
  int stages() const { return stages_; }
  int classes() const { return classes_; }
  int replicas() const { return static_cast<int>(class_of_.size()); }
  int lanes() const { return lanes_; }  // of a team: (replica * contexts + context rank) * tensor_lanes() + tensor rank
  int tensor_lanes() const { return tensor_lanes_; }  // of one context rank

  int class_of(int replica) const { return class_of_[static_cast<std::size_t>(replica)]; }
  std::span<const int> replicas_of(int replica_class) const {
    return members_[static_cast<std::size_t>(replica_class)];
  }
  TeamWriter& team(int stage, int replica) { return teams_[static_cast<std::size_t>(stage * replicas() + replica)]; }
  std::span<TeamWriter> all() { return teams_; }

  const StagePlan& plan(int stage, int replica_class) const { return plans_[index(stage, replica_class)]; }
  std::size_t index(int stage, int replica_class) const {  // of a plan
    return static_cast<std::size_t>(stage * classes_ + replica_class);
  }
  int ranks_per_stage() const { return replicas() * lanes_; }
  std::size_t rank_index(int stage, int replica, int lane) const {  // in program.ranks
    return static_cast<std::size_t>((stage * replicas() + replica) * lanes_ + lane);
  }

 private:
  void add_team(Program& program, RankGroups& groups, const Job& job, int stage, int replica, int data);

  std::span<const StagePlan> plans_;
  bool folded_;
  int stages_;
  int classes_;
  int lanes_;
  int tensor_lanes_;
  std::vector<int> class_of_;              // of each replica
  std::vector<std::vector<int>> members_;  // of each class
  std::vector<TeamWriter> teams_;
};

}  // namespace mirfak
