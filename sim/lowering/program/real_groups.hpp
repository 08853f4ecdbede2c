#pragma once

#include "program/job.hpp"
#include "program/program.hpp"
#include "program/rank_groups.hpp"
#include "program/stage_plan.hpp"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// The groups of the cluster's ranks that the groups of a program stand for. Each group of an unfolded program stands
// for itself.
class RealGroups {
 public:
  // References must outlive this object.
  RealGroups(const Program& program, const Job& job, std::span<const StagePlan> plans, bool folded);
  ~RealGroups();

  // The ranks of a group on the stage that the caller asks for, and its other ranks.
  struct Members {
    std::vector<int> of_stage;
    std::vector<int> others;
  };
  // Visits the real groups that a group stands for and that have ranks on a stage.
  void for_each(GroupingId grouping, GroupId group, int stage, const std::function<void(const Members&)>& visit);

  // Must be called before the functions below. Code that prices traffic does not need them.
  void number_ranks();
  // All ranks of the cluster, by number.
  const std::vector<ProgramRank>& cluster_ranks() const { return cluster_ranks_; }
  // The program's rank that stands for a rank of the cluster: an index into Program::ranks.
  std::uint32_t standing_for(int rank) const { return standing_for_[static_cast<std::size_t>(rank)]; }
  // Indexed by rank of the cluster: the group of the rank in a grouping, numbered among the cluster's own groups;
  // kNoGroup: none.
  std::vector<GroupId> groups_of_ranks(GroupingId grouping);
  // The ranks of a group of the cluster, ascending.
  std::vector<int> members(GroupId group) const;

 private:
  using OfRanks = std::vector<std::vector<Members>>;  // by rank of the program
  const OfRanks& real_groups(GroupingId grouping, int stage);
  std::uint32_t folded_into(const ProgramRank& rank) const { return standing_for_[rank.rank]; }

  const Program& program_;
  bool folded_;
  Program all_;  // the ranks of the cluster and their groups, without tasks
  std::unique_ptr<RankGroups> real_;
  std::vector<ProgramRank> cluster_ranks_;
  std::vector<std::uint32_t> index_of_;  // index of each cluster rank in the program with its groups
  std::vector<std::uint32_t>
      standing_for_;  // stand-in for each cluster rank, in the program; unfolded programs have it after number_ranks()
  std::map<std::pair<GroupingId, int>, OfRanks> real_groups_;
};

}  // namespace mirfak
