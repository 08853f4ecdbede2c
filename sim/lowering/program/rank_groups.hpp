#pragma once

#include "program/data_parallel.hpp"
#include "program/job.hpp"
#include "program/program.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// Enters the groups of a job's ranks into a program, each division once, when it is first asked for, and lets groups
// meet. In a folded program a rank stands for others. So all groups of a stage that have ranks of one class only are
// one group, and groups that join classes have one rank of each class.
class RankGroups {
 public:
  // References must outlive this object. program.ranks must be complete before groups are asked for.
  RankGroups(Program& program, const Job& job, bool folded);

  // Divides the ranks of a stage into groups that differ in their places on these axes of the mesh only; no axes:
  // kAlone. `own`: the strategy as the stage, or as all stages of its shape, see it.
  GroupingId over(MeshAxisSet axes, const Strategy& own);
  // Divides the ranks of a stage into groups that hold the same parameters, or a part of the same parameters.
  GroupingId among(ReplicaGroup replicas);
  // Divides the ranks of two stages into groups that have the same place on both, or that hold together the data they
  // exchange.
  GroupingId between(GroupKind kind, int stage, int other);
  GroupingId all();
  // The division that another program of the job has as `other`.
  GroupingId like(const Grouping& other);

  std::span<const std::uint32_t> ranks_of(GroupId group) const { return program_.groups[group].ranks; }

  // Adds the task in which the ranks of a group meet, after `after`, before they begin something together on one kind
  // of stream. Meetings for different streams do not wait for each other.
  TaskId meet(GroupingId grouping, GroupId group, StreamKind stream, std::span<const TaskId> after,
              std::int32_t microbatch = -1);

 private:
  using Name = std::pair<GroupKind, std::array<std::int32_t, 2>>;  // Grouping::kind and ::which
  // `key_of`: key of a rank; ranks with equal keys form a group, and groups are numbered in the order of their keys.
  // `size_of`: number of ranks in the group of a rank.
  template <class SizeOf, class KeyOf>
  GroupingId divide(const Name& name, const SizeOf& size_of, const KeyOf& key_of);
  // The strategy as the stage of a rank sees it.
  const Strategy& strategy_of(const ProgramRank& rank) const;
  const DeviceMesh& mesh_for(const ProgramRank& rank) const;

  Program& program_;
  const Job& job_;
  std::vector<Strategy> of_stages_;  // strategy as each stage sees it, where stages differ
  std::vector<DeviceMesh> meshes_;   // mesh of each stage; one mesh, where stages are alike
  bool folded_;
  std::map<Name, GroupingId> known_;
  std::map<GroupingId, ClassId> meeting_classes_;
  std::map<std::pair<GroupId, StreamKind>, StreamId> meeting_streams_;
};

}  // namespace mirfak
