#pragma once

#include "program/job.hpp"
#include "program/program.hpp"
#include "program/replica_kinds.hpp"
#include "program/stage_plan.hpp"
#include "program/team_writer.hpp"

#include <span>
#include <vector>

namespace mirfak {

// The ranks of a program with the writers of their tasks. In an unfolded program every stage has one team for each
// data-parallel replica, or for the replicas that exchange experts' rows, with all their ranks. In a folded program
// every stage has one team for each class of replicas and kind within it (Program::kind_of_replica), with one rank, or
// with all ranks if the program has whole teams. Below, `replica` counts the teams of a stage: 0 <= replica <
// replicas(stage).
class ReplicaTeams {
 public:
  // Adds the ranks to `program`, stage after stage, replica after replica, lane after lane. References must outlive
  // this object.
  ReplicaTeams(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
               std::span<const StagePlan> plans, bool unfolded);

  int stages() const { return static_cast<int>(stages_.size()); }
  int classes() const { return classes_; }
  int replicas(int stage) const { return static_cast<int>(of(stage).class_of.size()); }
  // Number of lanes of a team. A lane's index is (replica * contexts + context rank) * tensor_lanes() + tensor rank.
  int lanes(int stage) const { return of(stage).lanes; }
  int tensor_lanes(int stage) const { return of(stage).tensor_lanes; }  // lanes of one context rank

  int class_of(int stage, int replica) const { return of(stage).class_of[static_cast<std::size_t>(replica)]; }
  std::span<const int> replicas_of(int stage, int replica_class) const {
    return of(stage).members[static_cast<std::size_t>(replica_class)];
  }
  TeamWriter& team(int stage, int replica) { return teams_[of(stage).first_team + static_cast<std::size_t>(replica)]; }
  std::span<TeamWriter> all() { return teams_; }

  const StagePlan& plan(int stage, int replica_class) const { return plans_[index(stage, replica_class)]; }
  std::size_t index(int stage, int replica_class) const {  // index of a plan
    return static_cast<std::size_t>(stage * classes_ + replica_class);
  }
  int ranks_of(int stage) const { return replicas(stage) * lanes(stage); }
  std::size_t rank_index(int stage, int replica, int lane) const {  // index into program.ranks
    return of(stage).first_rank + static_cast<std::size_t>(replica * lanes(stage) + lane);
  }
  // The team and the lane of a rank.
  struct Seat {
    int replica = 0;
    int lane = 0;
  };
  Seat seat_of(int stage, std::size_t rank_index) const {
    const auto place = static_cast<int>(rank_index - of(stage).first_rank);
    return {place / lanes(stage), place % lanes(stage)};
  }

 private:
  // The teams of one stage.
  struct Stage {
    int lanes = 1;
    int tensor_lanes = 1;
    std::size_t first_team = 0;
    std::size_t first_rank = 0;             // index into program.ranks
    std::vector<int> class_of;              // class of each replica
    std::vector<std::vector<int>> members;  // replicas of each class
  };

  const Stage& of(int stage) const { return stages_[static_cast<std::size_t>(stage)]; }
  void add_stage(Program& program, RankGroups& groups, const Job& job, int stage);
  void add_team(Program& program, RankGroups& groups, const Job& job, int stage, int replica, const ReplicaKind& kind);

  std::span<const StagePlan> plans_;
  bool unfolded_;
  bool one_lane_;
  int classes_;
  std::vector<Stage> stages_;
  std::vector<TeamWriter> teams_;
};

}  // namespace mirfak
