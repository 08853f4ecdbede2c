#pragma once

#include "program/program.hpp"
#include "replay/recorded_steps.hpp"

#include <vector>

namespace mirfak {

// A step of a trace as a program. Its durations are 0 and are replaced by the durations of a step or of a what-if.
//  - A stream of a rank holds operations that the graph orders, in that order; an operation that the graph does not
//    order after them stands on another stream.
//  - A group begins after a task of length 0, which waits for everything that the members of the group wait for.
struct StepProgram {
  Program program;
  std::vector<TaskId> task_of;  // by instance of RecordedSteps
};

// Builds the program. Error(input) at operations of the graph that wait for each other.
StepProgram build_step_program(const MeasuredTrace& trace, const StepGraph& graph, const RecordedSteps& recorded);

}  // namespace mirfak
