#pragma once

#include "sweep/sweep_table.hpp"

#include <filesystem>
#include <span>

namespace mirfak {

// Puts the tables of a sweep's shards together: the table that a run of the whole sweep writes, to the byte.
// Error(input) for tables of other sweeps, of other data or another mirfak, for points that two of them hold, and for
// points that none holds. Returns the table written.
SweepTable merge_sweeps(std::span<const std::filesystem::path> shards, const std::filesystem::path& out);

}  // namespace mirfak
