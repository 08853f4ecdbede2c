#pragma once

#include "cluster/hardware.hpp"

#include <vector>

namespace mirfak {

// Returns the clocks in hertz that passes on the node's GPUs are planned with, highest first: from the highest (that of
// cluster.nodes[].clock_mhz, if set) down to 0.4 of it or the GPU's lowest, in steps that give at most 64 clocks.
std::vector<double> planned_clocks(const NodeHardware& node);

}  // namespace mirfak
