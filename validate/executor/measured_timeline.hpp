#pragma once

#include "engine/timeline.hpp"
#include "executor/executor.hpp"
#include "executor/rank_plan.hpp"

#include <span>
#include <vector>

namespace mirfak::measure {

// The times of all ranks as a timeline of the program, which begins when the first rank is ready for its first task.
//
// An operation of several ranks begins, as in a program's own timeline, when the last of them is ready; each rank's
// part of it ends when that rank is done. A meeting is the instant at which the last rank is ready for it.
// `times`: by rank of the job, in the order of its plan's tasks.
Timeline measured_timeline(const Program& program, const ExecutionGroups& groups,
                           std::span<const std::vector<TaskTime>> times);

}  // namespace mirfak::measure
