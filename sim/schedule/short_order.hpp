#pragma once

#include "schedule/schedule.hpp"

namespace mirfak {

// The orders for fewer microbatches, at most as many as there are: once warm, the order of a schedule that alternates
// is periodic. Warm-up, drain and at least one period between them are those of the whole order, and the last group of
// microbatches is what it was where it is not a whole one. Orders of other schedules are whole.
StageOrders short_orders(const Schedule& schedule, PipelineShape shape, const PassTimes& times = {});

}  // namespace mirfak
