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

// Enters the groups of a job's ranks into a program, each way to divide them once and when it is first asked for, and
// has groups meet. In a folded program a rank stands for others, so the groups of a stage that have ranks of one class
// only are one each, and groups that join classes have one rank of each.
class RankGroups {
 public:
  // References must outlive this. program.ranks must be complete before groups are asked for.
  RankGroups(Program& program, const Job& job, bool folded);

  // The ranks of a stage that differ in their places on these axes of the mesh only; no axes: kAlone. `own`: as a
  // strategy of which the stage, or all of its shape, ask.
  GroupingId over(MeshAxisSet axes, const Strategy& own);
  // The ranks of a stage that hold the same parameters, or a part of these.
  GroupingId among(ReplicaGroup replicas);
  // The ranks that have the same place on two stages, or hold together what they send each other.
  GroupingId between(GroupKind kind, int stage, int other);
  GroupingId all();
  // The division that another program of the job has as `other`.
  GroupingId like(const Grouping& other);

  std::span<const std::uint32_t> ranks_of(GroupId group) const { return program_.groups[group].ranks; }

  // Where the ranks of a group meet that begin something together on one kind of stream, after `after`. Meetings for
  // different streams do not wait for each other.
  TaskId meet(GroupingId grouping, GroupId group, StreamKind stream, std::span<const TaskId> after,
              std::int32_t microbatch = -1);

 private:
  using Name = std::pair<GroupKind, std::array<std::int32_t, 2>>;  // Grouping::kind and ::which
  // `key_of`: says which ranks belong together; in the order of the keys groups are numbered. `size_of`: of the group
  // of a rank, how many it has.
  template <class SizeOf, class KeyOf>
  GroupingId divide(const Name& name, const SizeOf& size_of, const KeyOf& key_of);
  // Of the stage that a rank is of.
  const Strategy& strategy_of(const ProgramRank& rank) const;
  const DeviceMesh& mesh_for(const ProgramRank& rank) const;

  Program& program_;
  const Job& job_;
  std::vector<Strategy> of_stages_;  // as each sees it, where they differ
  std::vector<DeviceMesh> meshes_;   // of each stage; one, where they are alike
  bool folded_;
  std::map<Name, GroupingId> known_;
  std::map<GroupingId, ClassId> meeting_classes_;
  std::map<std::pair<GroupId, StreamKind>, StreamId> meeting_streams_;
};

}  // namespace mirfak
