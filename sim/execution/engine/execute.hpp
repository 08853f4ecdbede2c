#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

namespace mirfak {

// Method of executing a program. Sweep and events give the same bits wherever both apply.
enum class Executor {
  automatic,  // the sweep where it applies, the event queue elsewhere
  sweep,      // one max-plus pass over the tasks in topological order; Error(internal) if links are shared
  events,     // discrete events: needed where tasks share links, valid everywhere
};

// Executes `program` in virtual time from 0. A pure function: the same program gives the same bits on any thread.
//
// A task starts at the latest of the end of the task before it on its stream and the ends of its dependencies. A task
// without link demands ends `duration` later. A task with demands progresses at a speed of at most 1 and ends when its
// work (its duration, at speed 1) is done. The speeds of all running tasks are the max-min fair ones under: for every
// link, sum over running tasks of speed x demand <= bytes_per_s. A task that never meets a saturated link therefore
// ends exactly `duration` after its start.
Timeline execute(const Program& program, Executor executor = Executor::automatic);

}  // namespace mirfak
