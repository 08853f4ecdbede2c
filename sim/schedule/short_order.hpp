#pragma once

#include "schedule/schedule.hpp"

#include <vector>

namespace mirfak {

// The order of a stage for fewer microbatches, at most as many as there are: once warm, the order of a schedule that
// alternates is periodic. Warm-up, drain and at least one period between them are those of the whole order, and the
// last group of microbatches is what it was where it is not a whole one.
std::vector<Pass> short_order(ScheduleKind schedule, PipelineShape shape, int stage);

}  // namespace mirfak
