#pragma once

#include "schedule/schedule.hpp"

namespace mirfak {

// Returns orders for fewer microbatches (at most as many as there are) if the schedule alternates: after warm-up its
// order is periodic. Warm-up, drain and at least one period between them equal those of the whole order; if the last
// group of microbatches is not full, it is kept as it is. Orders of other schedules are whole.
StageOrders short_orders(const Schedule& schedule, PipelineShape shape, const PassTimes& times = {});

}  // namespace mirfak
