#pragma once

#include "energy/activity_network.hpp"
#include "energy/clocked_program.hpp"

#include <span>
#include <vector>

namespace mirfak {

// A clocked program as a project: every clocked task is an activity with the curve of its choices, everything else is
// time that passes between activities. The project's makespan with given durations is that of the program if no links
// are shared.
struct ProgramNetwork {
  ActivityNetwork network;
  struct Activity {
    TaskId task = 0;
    EventId end = 0;             // the event that waits for the task
    Picoseconds end_offset = 0;  // least time from the end of the task to that event
  };
  std::vector<Activity> activities;  // one per clocked task, in program order

  // Returns the time at which each activity has to end if events happen at `event_times`.
  std::vector<Picoseconds> latest_ends(std::span<const Picoseconds> event_times) const;
};

ProgramNetwork network_of(const ClockedProgram& clocked);

}  // namespace mirfak
