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

// The groups of a cluster's ranks that the groups of a program stand for: of an unfolded one each for itself.
class RealGroups {
 public:
  // References must outlive this.
  RealGroups(const Program& program, const Job& job, std::span<const StagePlan> plans, bool folded);
  ~RealGroups();

  // The ranks of a group on the stage that is asked for, and its others.
  struct Members {
    std::vector<int> of_stage;
    std::vector<int> others;
  };
  // Visits the real groups that a group stands for and that have ranks on a stage.
  void for_each(GroupingId grouping, GroupId group, int stage, const std::function<void(const Members&)>& visit);

  // In front of the functions below, which what prices traffic does not need.
  void number_ranks();
  // All ranks of the cluster, by number.
  const std::vector<ProgramRank>& cluster_ranks() const { return cluster_ranks_; }
  // Of the program's ranks the one that stands for a rank of the cluster: an index into Program::ranks.
  std::uint32_t standing_for(int rank) const { return standing_for_[static_cast<std::size_t>(rank)]; }
  // By rank of the cluster, its group of a grouping, among the cluster's own; kNoGroup: in none.
  std::vector<GroupId> groups_of_ranks(GroupingId grouping);
  // The ranks of such a group, ascending.
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
  std::vector<std::uint32_t> index_of_;  // of each rank of the cluster, in what has its groups
  std::vector<std::uint32_t>
      standing_for_;  // ... in the program; unfolded programs have it once number_ranks() was called
  std::map<std::pair<GroupingId, int>, OfRanks> real_groups_;
};

}  // namespace mirfak
