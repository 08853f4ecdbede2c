#pragma once

#include "capture/captured_scenario.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Writes the files that --chakra and --chakra-ranks of `mirfak simulate` ask for. `ranks`: a list such as "0-7,64";
// empty: all ranks. Error(input) if `ranks` is no such list or names a rank that does not exist.
void write_chakra_files(const std::string& prefix, const std::string& ranks, const Scenario& scenario,
                        const Simulation& simulation);
// The same of a capture; returns notes on what the files do not have (capture/captured_chakra.hpp).
std::vector<std::string> write_chakra_files(const std::string& prefix, const std::string& ranks,
                                            const CapturedScenario& scenario, const CaptureSources& sources);

// Error(input) for ranks without a prefix.
void check_chakra_options(const std::string& prefix, const std::string& ranks);

}  // namespace mirfak
