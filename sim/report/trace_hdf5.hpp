#pragma once

#include "engine/iteration.hpp"
#include "scenario/scenario.hpp"

#include <filesystem>

namespace mirfak {

// Writes the trace of one iteration (schema: README.md of this folder). The same simulation gives the same bytes.
// The file appears under its name when it is complete, replacing what was there, or not at all. Throws Error(input)
// where there is no folder to write to, Error(internal) when writing fails. Needs some 10 bytes of memory a task. HDF5
// serves one thread at a time.
void write_trace(const std::filesystem::path& path, const Scenario& scenario, const Simulation& simulation);

}  // namespace mirfak
