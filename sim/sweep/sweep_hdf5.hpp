#pragma once

#include "sweep/sweep_table.hpp"

#include <filesystem>

namespace mirfak {

// Writes the rows in the order of their points (schema: README.md of this folder), to another name first, which becomes
// `path` once the file is whole and on its disk. The same rows give the same bytes, whatever order they are in. Errors:
// as of StagedFile and Hdf5File.
void write_sweep_table(const std::filesystem::path& path, const SweepTable& table);

// Error(input) where there is no such table.
SweepTable read_sweep_table(const std::filesystem::path& path);
SweepHeading read_sweep_heading(const std::filesystem::path& path);

}  // namespace mirfak
