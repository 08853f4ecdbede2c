#pragma once

#include "cluster/perturbations.hpp"
#include "cost/activity.hpp"
#include "program/job.hpp"
#include "program/program.hpp"
#include "program/rank_groups.hpp"
#include "program/real_groups.hpp"
#include "program/stage_plan.hpp"

#include <array>
#include <span>
#include <vector>

namespace mirfak {

ActivityFactors by_activity(const TimeFactors& factors);
// Returns the larger of each pair of factors.
TimeFactors larger(const TimeFactors& a, const TimeFactors& b);
ActivityFactors larger(const ActivityFactors& a, const ActivityFactors& b);

// The factors of a program's ranks, in their order.
std::vector<RankFactors> factors_of_ranks(const Program& program, const Cluster& cluster);
// The factors of a folded program whose ranks stand for unlike ranks: each factor is the largest among these ranks.
std::vector<RankFactors> largest_factors(const Program& program, const Job& job, std::span<const StagePlan> plans);

// True if the ranks of a group, all of them explicit, are on several nodes.
bool leaves_node(const Program& program, const Group& group, const Cluster& cluster);

// True if one of the cluster's groups that a group of a folded program stands for is on several nodes.
bool leaves_node(RealGroups& real, const Program& program, GroupingId grouping, GroupId group, const Cluster& cluster);

// Exchanges of a rank inside passes: indexed by activity, true if the rank's group for that exchange is on several
// nodes. `real`: of a folded program; null: all ranks are explicit.
using LeavesNode = std::array<bool, kActivities>;
std::vector<LeavesNode> exchanges_that_leave(const Program& program, RankGroups& groups, const Job& job,
                                             RealGroups* real);

// Factors of the work that a rank does alone or exchanges inside passes. The factor of its port applies to exchanges
// that leave its node.
ActivityFactors factors_in_passes(const RankFactors& of, const LeavesNode& leaves);

}  // namespace mirfak
