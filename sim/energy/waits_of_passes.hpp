#pragma once

#include "program/lowered_passes.hpp"

namespace mirfak {

// Clocks are of whole passes, but where what passes exchange shares links with others, only a program that is cut at
// these exchanges says how long a pass takes. `whole`: the program of whole passes; `cut`: the same job as simulate()
// executes it. Returns the first without links, in which every transfer and collective lasts as long as it did among
// the others, and a task in front of a pass is what its exchanges waited for them: at these clocks it ends when `cut`
// does. Task classes keep their numbers.
Program with_waits(const LoweredPasses& whole, const LoweredPasses& cut);

}  // namespace mirfak
