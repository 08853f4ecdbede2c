#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

namespace mirfak {

// Executes any program that keeps its invariants by discrete events, sharing links max-min fairly; see execute().
// Error(infeasible) if a task would not end within 100 days for want of bandwidth.
Timeline execute_events(const Program& program);

}  // namespace mirfak
