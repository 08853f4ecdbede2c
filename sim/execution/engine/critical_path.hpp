#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <vector>

namespace mirfak {

// Returns a chain of tasks, first to last, that decides when a program ends. The chain starts at the task that ends
// last and goes back each time to the latest end among the task's dependencies and the task before it on its stream. If
// nothing on shared links was held up, the durations in the chain and the gaps between its tasks add up to the
// makespan. The first of several equally late tasks counts.
std::vector<TaskId> critical_path(const Program& program, const Timeline& timeline);

}  // namespace mirfak
