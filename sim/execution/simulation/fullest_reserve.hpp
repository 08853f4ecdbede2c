#pragma once

#include "program/reserved_memory.hpp"
#include "simulation/iteration.hpp"

#include <optional>

namespace mirfak {

// Returns what the allocator of the fullest stage takes from its device: the peak that is counted pass by pass, of
// which a replay may miss some, and the free pieces that the replay finds (program/reserved_memory.hpp). It takes
// milliseconds. nullopt as of reserved_memory().
std::optional<ReservedMemory> reserve_of_fullest(const Simulation& simulation);

}  // namespace mirfak
