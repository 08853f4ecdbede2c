#pragma once

#include "network/network_graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What the file says of a GPU and of a network port beyond the graph.
struct NcclGpu {
  int vertex = 0;      // of the graph, a device
  bool stated = true;  // false: a PCI function of a GPU's class without a <gpu>, whose links the file leaves to NCCL
  int rank = -1;       // -1: not stated
  int dev = -1;
  std::string target;  // what compilers call its architecture: "sm_80", "gfx90a"; empty: not stated
  bool gdr = true;     // network cards read its memory (GPUDirect RDMA); true where nothing is stated
};

struct NcclNet {
  int vertex = 0;
  std::string name;
  double bandwidth = 0;  // bytes/s; 0: not stated
  bool gdr = true;
};

// A topology file with what its elements mean to NCCL.
struct NcclTopology {
  NetworkGraph graph;
  std::vector<NcclGpu> gpus;  // in the order of the graph's devices
  std::vector<NcclNet> nets;  // in the order of the file; where there is no <net>, PCI functions of network cards
  std::vector<double> links;  // of each link of the graph, how many are taken together (`count`); 1 of others
  std::vector<std::string> idle_attributes;  // that nobody knows, each once: "colour of <pci>"
  int hosts = 1;                             // different host_hash
  Location where;                            // of <system>
};

// A topology file of NCCL or RCCL (NCCL_TOPO_FILE): the inside of one node, or of several where host_hash says so.
// Vertices: GPUs (also PCI functions of a GPU's class without a <gpu>, which NCCL fills in itself), the other PCI
// functions, processors, nets, and NVSwitches, which only links to them name. Links: PCIe at its speed times its width
// after encoding, NVLink and xGMI at `count` times the line rate of one link of the architecture, C2C at its `bw`, nets
// at their `speed` in Mb/s, processors among each other without a rate. A link that both its ends state is one link.
// Error(input) at the element that cannot be.
NcclTopology read_nccl_system(std::string_view text, const std::string& name);
NetworkGraph read_nccl_topology(std::string_view text, const std::string& name);

}  // namespace mirfak
