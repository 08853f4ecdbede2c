#pragma once

#include "simulation/iteration.hpp"

#include <string>

namespace mirfak {

// Why an iteration does not fit in memory: what the fullest stage needs, of how much, and for what, largest first.
// "stage 0 needs 91.2 of 80.0 GiB: activations 48.1, ...", without a line end.
std::string memory_shortage_text(const IterationResult& result);

}  // namespace mirfak
