#pragma once

#include "program/body.hpp"
#include "program/rank_factors.hpp"
#include "program/stage_plan.hpp"

namespace mirfak {

// A body in which each step takes as long as with factors: the host's work is multiplied by the host's factor, a
// collective by the factor of its kind of exchange. A collective still sends the same bytes.
Body slowed(Body body, const ActivityFactors& factors);

// The plan with passes as ranks with these factors run them: they are folded from slowed bodies, so that work hidden by
// longer work stays hidden. The rest is as in `plan`. Error(internal) if the plan's bodies were not kept.
StagePlan slowed(const StagePlan& plan, const ActivityFactors& factors);

}  // namespace mirfak
