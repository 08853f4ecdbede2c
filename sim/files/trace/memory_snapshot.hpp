#pragma once

#include "simulation/iteration.hpp"

#include <filesystem>

namespace mirfak {

// Writes the iteration's predicted memory in the format in which PyTorch writes its allocator's memory
// (_dump_snapshot), for PyTorch's memory viewer: a pickle of segments and traces of allocations. It has a device for
// each rank of the program, in the program's order; in a folded program, for each stage and class of replicas. Blocks
// are the memory that memory_over_time() counts: state, buffers and platform from the beginning, the data that a
// forward pass keeps until its backward pass has ended, and the workspace of a running pass; their frames name them.
// Addresses are given out first fit, in multiples of 512 bytes.
void write_memory_snapshot(const std::filesystem::path& path, const Simulation& simulation);

}  // namespace mirfak
