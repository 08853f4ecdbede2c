#pragma once

#include "program/body.hpp"
#include "program/rank_factors.hpp"
#include "program/stage_plan.hpp"

namespace mirfak {

// A body each step of which takes as long as with factors: the host's work by the host's, a collective by those of
// what it exchanges, sending the same bytes.
Body slowed(Body body, const ActivityFactors& factors);

// What ranks with factors run in the passes of a plan: folded from slowed bodies, so that what hides behind something
// longer stays hidden. The rest is as in the plan. Error(internal) if the plan's bodies were not kept.
StagePlan slowed(const StagePlan& plan, const ActivityFactors& factors);

}  // namespace mirfak
