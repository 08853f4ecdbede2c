#pragma once

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <string>

namespace mirfak {

// What --chakra and --chakra-ranks of `mirfak simulate` ask for. `ranks`: "0-7,64", or empty: all. Error(input) for
// ranks that are no such list, or not there.
void write_chakra_files(const std::string& prefix, const std::string& ranks, const Scenario& scenario,
                        const Simulation& simulation);

}  // namespace mirfak
