#pragma once

#include "energy/clocked_program.hpp"

namespace mirfak {

// Returns a plan that needs less energy in the same time, as far as exchanges find one: a pass takes a faster choice,
// and another pass of the stage, which has the time that this leaves and its slack, a slower one that saves more. A
// plan that is rounded pass by pass (nearest_clocks) can waste the last bit of time on each stage, in which no pass
// alone can be slowed to its next choice; where choices are far apart or passes few, that bit costs energy.
//
// The plan keeps `deadline` as the given one does. Exchanges end when the passes need `enough_j`, when none is left, or
// after kMostTries tries of a whole plan.
ClockAssignment exchange_clocks(const ClockedProgram& clocked, ClockAssignment clocks, Picoseconds deadline,
                                double enough_j);
inline constexpr int kMostTries = 400;

// Returns the energy of the clocked tasks, above waiting.
double energy_of_passes(const ClockedProgram& clocked, const ClockAssignment& clocks);

}  // namespace mirfak
