#pragma once

#include "capture/capture_simulation.hpp"

#include <filesystem>

namespace mirfak {

// Writes a captured step as a trace (README.md of the room trace: which groups a trace of a capture has). The file
// appears under its name when it is complete, and replaces an existing file, or does not appear at all. Errors as of
// write_trace().
void write_trace(const std::filesystem::path& path, const CapturedScenario& scenario,
                 const CaptureSimulation& simulation);

}  // namespace mirfak
