#pragma once

#include "executor/rank_plan.hpp"

#include <span>
#include <vector>

namespace mirfak::measure {

// Plans that do one operation again and again, for benchmarks of it by an executor.
struct CollectivePlans {
  ExecutionGroups groups;
  std::vector<RankPlan> plans;  // of all ranks; those that take no part have no tasks
};

// Plans `times` collectives for each of `sizes`, one after another, of so many bytes among `group`, of `ranks` ranks.
CollectivePlans collective_plans(CollectiveKind kind, std::span<const int> group, int ranks,
                                 std::span<const double> sizes, int times);
// The same of sends from the first rank of a pair to the second.
CollectivePlans transfer_plans(std::span<const int> pair, int ranks, std::span<const double> sizes, int times);

}  // namespace mirfak::measure
