#pragma once

#include "sweep/sweep_table.hpp"

#include <filesystem>
#include <span>

namespace mirfak {

// Merges the tables of a sweep's shards into the table that a run of the whole sweep writes, byte for byte.
// Error(input) for tables of other sweeps, of other data or another version of mirfak, for points that two of them
// hold, and for points that none holds. Returns the written table.
SweepTable merge_sweeps(std::span<const std::filesystem::path> shards, const std::filesystem::path& out);

}  // namespace mirfak
