#pragma once

#include "energy/clocked_program.hpp"
#include "energy/program_network.hpp"
#include "engine/timeline.hpp"

#include <span>
#include <vector>

namespace mirfak {

// A program executed at given clocks: results of the engine, not the estimates of a plan.
struct ExecutedClocks {
  ClockAssignment clocks;
  Picoseconds makespan = 0;
  double energy_j = 0;  // energy of all ranks from 0 to `makespan`, waiting included
};

// Returns the program with its passes at these clocks; every clock of a pass has a class of its own.
Program with_clocks(const ClockedProgram& clocked, const ClockAssignment& clocks);
// Returns the times of its tasks.
Timeline timeline_with(const ClockedProgram& clocked, const ClockAssignment& clocks);

ExecutedClocks execute_clocks(const ClockedProgram& clocked, ClockAssignment clocks);

// Returns the assignment with every pass at the highest clock.
ClockAssignment highest_clocks(const ClockedProgram& clocked);

// Returns the time that a program takes if tasks without a clock last as long as the plan assumes.
Picoseconds planned_makespan(const ClockedProgram& clocked, const ClockAssignment& clocks);
// Returns by how much each task may end later with the program still ending at `makespan`.
std::vector<Picoseconds> slacks(const ClockedProgram& clocked, const ClockAssignment& clocks, Picoseconds makespan);

// Returns existing clocks for a plan; `latest_ends` is the latest end of each clocked task, in program order. The
// clocks are the cheapest with which every task ends in time if no links are shared. Durations of the plan lie between
// the durations of two clocks; a task that takes the faster clock leaves the remaining time to the tasks after it. The
// time that remains at the end is given to tasks that save energy with it.
ClockAssignment nearest_clocks(const ClockedProgram& clocked, std::span<const Picoseconds> latest_ends);

}  // namespace mirfak
