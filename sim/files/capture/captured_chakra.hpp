#pragma once

#include "capture/captured_scenario.hpp"
#include "chakra/chakra_export.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// Writes a captured step as Chakra execution traces (chakra/chakra_export.hpp), one for each rank that the capture has,
// including ranks that did the same as another rank. `ranks`: the ranks to write, ascending; empty: all of them.
// Kernels are compute nodes with FLOPs and bytes, communication and the host's work are nodes as in an iteration. A
// node waits for the work before it on its CUDA stream, and for the events and communication that its stream waits for.
// Durations are those of the executed step, so that a replay of all ranks takes the same time to the picosecond.
// Returns notes on what the traces lack. Error(input) for a rank that is not in the capture.
std::vector<std::string> write_chakra(const std::filesystem::path& prefix, const CapturedScenario& scenario,
                                      const CaptureSources& sources, const std::vector<int>& ranks,
                                      const ChakraHeaderTexts& texts);

}  // namespace mirfak
