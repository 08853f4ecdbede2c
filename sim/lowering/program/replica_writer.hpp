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

// Writes the collectives of ranks that hold the same parameters, that is of data-parallel replicas and context ranks:
// one task for every rank of a stage, on its data stream. The tasks of each group begin together.
class ReplicaWriter {
 public:
  // References must outlive this object.
  ReplicaWriter(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks, ReplicaTeams& teams,
                CommunicationClasses& communication);

  // Reduces the gradients of parameters (of one rank), after all passes that the stage's ranks have run so far.
  void reduce(int stage, const HeldParameters& held);
  // Reduces the gradients of parameters over replicas that hold the same parts of weights; with `whole`, instead, those
  // of what stays whole over replicas that share a copy of weights (weight_exchange.hpp).
  void reduce_parts(int stage, const HeldParameters& held, bool whole = false);
  // Sums the norm of all gradients over ranks that hold different shards.
  void sum_norms(int stage);

  enum class GatherAfter : std::uint8_t {
    all_passes,    // after all passes written so far
    but_the_last,  // after all passes except the last part of a pass
    nothing,
  };
  // Gathers parameters (those of one rank after the gather). Returns the tasks, replica after replica, lane after lane.
  std::vector<TaskId> gather(int stage, const HeldParameters& held, GatherAfter after,
                             GatheredFrom from = GatheredFrom::shards);
  // Gathers parameters from replicas that hold the same parts of weights. Returns the tasks likewise; none: empty.
  std::vector<TaskId> gather_parts(int stage, const HeldParameters& held, GatherAfter after);

 private:
  using Waits = std::vector<std::vector<TaskId>>;  // by rank of a stage, replica after replica, lane after lane
  std::size_t lanes(int stage) const { return static_cast<std::size_t>(teams_.lanes(stage)); }
  const Job& job_of(int stage) const { return job_at(job_, blocks_, stage); }
  Waits gradients(int stage);
  Waits passes(int stage, GatherAfter after);
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
  // Collectives of each class of replicas, by stage, name and bytes: parts and microbatches repeat them.
  std::map<std::tuple<int, std::string_view, double>, std::vector<Communication>> described_;
};

}  // namespace mirfak
