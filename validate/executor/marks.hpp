#pragma once

#include "engine/timeline.hpp"
#include "executor/rank_plan.hpp"

namespace mirfak::measure {

// A timeline without the time that marks take (the events before and after each task), which is not the program's.
struct Unmarked {
  Timeline timeline;
  Picoseconds mark = 0;  // what those of one task took, and was taken out
};

// The timeline that takes `makespan`, as iterations without marks do: from every task of a device the same time is
// taken out, first of the gap in front of it, then of the task, of which at least a tenth stays. Gaps and order stay
// otherwise: a task begins when all that it waits for has ended (its dependencies, the one before it in its stream,
// and where `one_gpu` runs all ranks the kernel before it there), and what it then waited further it waits still. A
// timeline that is no longer than `makespan` stays as it is.
Unmarked without_marks(const Program& program, const ExecutionGroups& groups, const Timeline& marked,
                       Picoseconds makespan, bool one_gpu);

}  // namespace mirfak::measure
