#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <vector>

namespace mirfak {

// A chain of tasks that decides when a program ends, first to last: from the task that ends last, each time back to
// what it waited for longest, a dependency or the task before it on its stream. Where nothing on shared links was held
// up, their durations and the gaps between them add up to the makespan. Of several equally late ones the first counts.
std::vector<TaskId> critical_path(const Program& program, const Timeline& timeline);

}  // namespace mirfak
