#pragma once

#include "simulation/iteration.hpp"

#include <string>

namespace mirfak {

// Returns the reason why an iteration does not fit in memory, without a line end: need and capacity of the fullest
// stage, and the parts of the need, largest first: "stage 0 needs 91.2 of 80.0 GiB: activations 48.1, ...".
std::string memory_shortage_text(const IterationResult& result);

}  // namespace mirfak
