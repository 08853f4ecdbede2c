#pragma once

#include "program/memory.hpp"
#include "simulation/iteration.hpp"

#include <optional>

namespace mirfak {

// Returns what the allocator of the fullest stage takes from its device, also where it does not decide what fits;
// nullopt as of reserved_memory() (program/reserved_memory.hpp).
std::optional<ReservedMemory> reserve_of_fullest(const Simulation& simulation);

}  // namespace mirfak
