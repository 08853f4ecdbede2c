#pragma once

#include "executor/rank_plan.hpp"

#include <span>
#include <vector>

namespace mirfak::measure {

// Plans that do one operation again and again, for benchmarks of it by an executor.
struct CollectivePlans {
  ExecutionGroups groups;
  std::vector<RankPlan> plans;  // of all ranks
};

// For each of `sizes`, `times` collectives of so many bytes among `ranks` ranks, one behind another.
CollectivePlans collective_plans(CollectiveKind kind, int ranks, std::span<const double> sizes, int times);
// The same of sends from rank 0 to rank 1, of `ranks` ranks.
CollectivePlans transfer_plans(int ranks, std::span<const double> sizes, int times);

}  // namespace mirfak::measure
