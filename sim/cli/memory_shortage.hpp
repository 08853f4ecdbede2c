#pragma once

#include "engine/iteration.hpp"

#include <string>

namespace mirfak {

// Why an iteration does not fit in memory, of the fullest stage: what it needs, of how much, for what, and which
// keys of the strategy would lessen it. One sentence and a hint on a line of its own, without a line end.
std::string memory_shortage(const Simulation& simulation);

}  // namespace mirfak
