#pragma once

#include "energy/clocked_program.hpp"
#include "energy/program_network.hpp"

#include <span>

namespace mirfak {

// A program executed at given clocks: what the engine says, not what a plan hopes.
struct ExecutedClocks {
  ClockAssignment clocks;
  Picoseconds makespan = 0;
  double energy_j = 0;  // of all ranks from 0 to `makespan`, waiting included
};

// The program with its passes at these clocks, every clock of a pass a class of its own.
Program with_clocks(const ClockedProgram& clocked, const ClockAssignment& clocks);

ExecutedClocks execute_clocks(const ClockedProgram& clocked, ClockAssignment clocks);

// Every pass at the highest clock.
ClockAssignment highest_clocks(const ClockedProgram& clocked);

// Clocks that exist, for a plan of which `latest_ends` says when each clocked task has to end, in program order: the
// cheapest with which every task ends in time where no links are shared. Durations of the plan lie between those of two
// clocks; a task that takes the faster one leaves what is left to the tasks behind it. What is left over at the end is
// given to whoever saves energy by it.
ClockAssignment nearest_clocks(const ClockedProgram& clocked, std::span<const Picoseconds> latest_ends);

}  // namespace mirfak
