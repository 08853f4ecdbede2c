#pragma once

#include "sweep/sweep_table.hpp"

#include <filesystem>

namespace mirfak {

// Writes the rows in the order of their points (schema: README.md of this folder), first to a file of another name,
// which becomes `path` once it is complete and on its disk. Equal rows give equal bytes in any order. Errors as of
// StagedFile and Hdf5File.
void write_sweep_table(const std::filesystem::path& path, const SweepTable& table);

// Reads a table. Error(input) if there is no such table.
SweepTable read_sweep_table(const std::filesystem::path& path);

}  // namespace mirfak
