#pragma once

#include "energy/activity_network.hpp"
#include "energy/clocked_program.hpp"

#include <span>
#include <vector>

namespace mirfak {

// A clocked program as a project: every clocked task an activity with the curve of its choices, everything else time
// that passes between them. The project's makespan with given durations is that of the program where no links are
// shared.
struct ProgramNetwork {
  ActivityNetwork network;
  struct Activity {
    TaskId task = 0;
    EventId end = 0;             // the event that waits for it
    Picoseconds end_offset = 0;  // ... which may happen as long after it, at the earliest
  };
  std::vector<Activity> activities;  // one per clocked task, in program order

  // When each activity has to end, if events happen at these times.
  std::vector<Picoseconds> latest_ends(std::span<const Picoseconds> event_times) const;
};

ProgramNetwork network_of(const ClockedProgram& clocked);

}  // namespace mirfak
