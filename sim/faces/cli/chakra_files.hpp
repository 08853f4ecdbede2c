#pragma once

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <string>

namespace mirfak {

// Writes the files that --chakra and --chakra-ranks of `mirfak simulate` ask for. `ranks`: a list such as "0-7,64";
// empty: all ranks. Error(input) if `ranks` is no such list or names a rank that does not exist.
void write_chakra_files(const std::string& prefix, const std::string& ranks, const Scenario& scenario,
                        const Simulation& simulation);

}  // namespace mirfak
