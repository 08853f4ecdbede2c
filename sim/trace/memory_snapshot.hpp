#pragma once

#include "simulation/iteration.hpp"

#include <filesystem>

namespace mirfak {

// Writes the predicted memory of the iteration as PyTorch writes that of its allocator (_dump_snapshot), for its memory
// viewer: a pickle of segments and traces of allocations. A device for each rank of the program, in its order; folded,
// for each stage and class of replicas. Blocks are what memory_over_time() counts: state, buffers and platform from the
// beginning, what a forward pass keeps until its backward pass has ended, what a running pass needs besides; their
// frames say what they are. Addresses are given out first fit, in multiples of 512 bytes.
void write_memory_snapshot(const std::filesystem::path& path, const Simulation& simulation);

}  // namespace mirfak
