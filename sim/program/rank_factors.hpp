#pragma once

#include "cluster/perturbations.hpp"
#include "cost/activity.hpp"
#include "program/job.hpp"
#include "program/program.hpp"
#include "program/rank_groups.hpp"
#include "program/stage_plan.hpp"

#include <array>
#include <span>
#include <vector>

namespace mirfak {

ActivityFactors by_activity(const TimeFactors& factors);
// Each the larger of two.
TimeFactors larger(const TimeFactors& a, const TimeFactors& b);
ActivityFactors larger(const ActivityFactors& a, const ActivityFactors& b);

// The factors of a program's ranks, in their order.
std::vector<RankFactors> factors_of_ranks(const Program& program, const Cluster& cluster);
// The same of a folded program whose ranks stand for unlike ones: of each factor the largest among these.
std::vector<RankFactors> largest_factors(const Program& program, const Job& job, std::span<const StagePlan> plans);

// Whether the ranks of a group, all of them explicit, are on several nodes.
bool leaves_node(const Program& program, const Group& group, const Cluster& cluster);

// What a rank exchanges inside passes: by activity, whether its group for that is on several nodes.
using LeavesNode = std::array<bool, kActivities>;
std::vector<LeavesNode> exchanges_that_leave(const Program& program, RankGroups& groups, const Job& job);
constexpr LeavesNode all_leave() {
  LeavesNode out{};
  out.fill(true);
  return out;
}

// What a rank does alone, or exchanges inside passes. Its port counts for what leaves its node.
ActivityFactors factors_in_passes(const RankFactors& of, const LeavesNode& leaves);

}  // namespace mirfak
