#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

namespace mirfak {

// Executes a program by discrete events, with max-min fair sharing of links; see execute(). Valid for any program that
// keeps the invariants of Program. Error(infeasible) if a task would not end within 100 days for lack of bandwidth.
Timeline execute_events(const Program& program);

}  // namespace mirfak
