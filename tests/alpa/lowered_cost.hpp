#pragma once

#include "alpa/block_plan.hpp"

namespace mirfak::test {

// Returns the cost of a plan as partition() lowers it: kernels and collectives of every step, and the reductions of
// gradients at the end of the iteration. Shares nothing with the choice problem but the prices.
alpa::Cost lowered_cost(const OperatorGraph& graph, const alpa::BlockPlan& plan, const alpa::BlockPrices& prices,
                        const alpa::PlanOptions& options);

}  // namespace mirfak::test
