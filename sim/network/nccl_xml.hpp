#pragma once

#include "network/network_graph.hpp"

#include <string>
#include <string_view>

namespace mirfak {

// A topology file of NCCL or RCCL (NCCL_TOPO_FILE): the inside of one node, or of several where host_hash says so.
// Vertices: GPUs (also PCI functions of a GPU's class without a <gpu>, which NCCL fills in itself), the other PCI
// functions, processors, nets, and NVSwitches, which only links to them name. Links: PCIe at its speed times its width
// after encoding, NVLink and xGMI at `count` times the line rate of one link of the architecture, C2C at its `bw`, nets
// at their `speed` in Mb/s, processors among each other without a rate. A link that both its ends state is one link.
// Error(input) at the element that cannot be.
NetworkGraph read_nccl_topology(std::string_view text, const std::string& name);

}  // namespace mirfak
