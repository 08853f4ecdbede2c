#pragma once

#include "program/lowered_passes.hpp"

namespace mirfak {

// Clocks are of whole passes, but if exchanges inside passes share links with other traffic, only a program that is cut
// at these exchanges gives the time of a pass. `whole`: the program of whole passes; `cut`: the same job as simulate()
// executes it. Returns `whole` without links: every transfer and collective lasts as long as it did among the others,
// and a task before a pass stands for the time that the pass's exchanges waited for other traffic, so that the program
// ends at these clocks when `cut` does. Task classes keep their numbers.
Program with_waits(const LoweredPasses& whole, const LoweredPasses& cut);

}  // namespace mirfak
