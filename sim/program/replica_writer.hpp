#pragma once

#include "program/communication_classes.hpp"
#include "program/data_parallel.hpp"
#include "program/rank_groups.hpp"
#include "program/replica_teams.hpp"

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

namespace mirfak {

// Writes the collectives of ranks that hold the same parameters, data-parallel replicas and context ranks: for every
// rank of a stage one task on its data stream, which begin together within each group.
class ReplicaWriter {
 public:
  // References must outlive this.
  ReplicaWriter(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks, ReplicaTeams& teams,
                CommunicationClasses& communication);

  // The gradients of parameters (of one rank), after all that the stage's ranks have run so far.
  void reduce(int stage, const HeldParameters& held);
  // Each rank's part of the norm of all gradients, where ranks hold different shards.
  void sum_norms(int stage);

  enum class GatherAfter : std::uint8_t {
    all_passes,    // that have been written so far
    but_the_last,  // part of a pass
    nothing,
  };
  // Parameters, those of one rank once gathered. Returns the tasks, replica after replica, lane after lane.
  std::vector<TaskId> gather(int stage, const HeldParameters& held, GatherAfter after);

 private:
  using Waits = std::vector<std::vector<TaskId>>;  // of each rank of a stage, replica after replica, lane after lane
  std::size_t lanes(int stage) const { return static_cast<std::size_t>(teams_.lanes(stage)); }
  const Job& job_of(int stage) const { return job_at(job_, blocks_, stage); }
  Waits gradients(int stage);
  Waits issue(int stage, const char* name, const Waits& held_back);
  const std::vector<Communication>& describe_for_classes(int stage, const ReplicaCollective& collective);
  std::vector<TaskId> run(int stage, const ReplicaCollective& collective, const Waits& waits);
  std::vector<GroupId> groups_on(int stage, GroupingId grouping) const;

  Program& program_;
  RankGroups& groups_;
  const Job& job_;
  const ShardedBlocks& blocks_;
  ReplicaTeams& teams_;
  CommunicationClasses& communication_;
  // Of each class of replicas, by stage, name and bytes: parts and microbatches repeat them.
  std::map<std::tuple<int, std::string_view, double>, std::vector<Communication>> described_;
};

}  // namespace mirfak
