#pragma once

#include "program/program.hpp"
#include "replay/recorded_steps.hpp"

#include <vector>

namespace mirfak {

// A step of a trace as a program. Its durations are 0; those of a step, or of a what-if, are put in their place.
//  - A stream of a rank holds operations that the graph orders, in that order; what it leaves open stands on a stream
//    of its own.
//  - A group begins behind a task of no length that waits for all that its members wait for.
struct StepProgram {
  Program program;
  std::vector<TaskId> task_of;  // by instance of RecordedSteps
};

// Error(input) at operations of the graph that wait for each other.
StepProgram build_step_program(const MeasuredTrace& trace, const StepGraph& graph, const RecordedSteps& recorded);

}  // namespace mirfak
