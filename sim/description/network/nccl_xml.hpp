#pragma once

#include "network/network_graph.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Properties of GPUs and of network ports that the file states in addition to the graph.
struct NcclGpu {
  int vertex = 0;      // vertex of the graph, a device
  bool stated = true;  // false: PCI function of a GPU's class without a <gpu>, whose links the file leaves to NCCL
  int rank = -1;       // -1: not stated
  int dev = -1;
  std::string target;  // compilers' name of its architecture: "sm_80", "gfx90a"; empty: not stated
  bool gdr = true;     // network cards access its memory (GPUDirect RDMA); true if nothing is stated
};

struct NcclNet {
  int vertex = 0;
  std::string name;
  double bandwidth = 0;  // bytes/s; 0: not stated
  bool gdr = true;
};

// Topology file, with the meaning of its elements to NCCL.
struct NcclTopology {
  NetworkGraph graph;
  std::vector<NcclGpu> gpus;  // ordered as the graph's devices
  std::vector<NcclNet> nets;  // ordered as in the file; without any <net>, PCI functions of network cards
  // Number of physical links (`count`) merged into each link of the graph; 1 for other links.
  std::vector<double> links;
  std::vector<std::string> idle_attributes;  // unknown attributes, each once: "colour of <pci>"
  int hosts = 1;                             // number of different values of host_hash
  Location where;                            // place of <system>
};

// Read a topology file of NCCL or RCCL (NCCL_TOPO_FILE): the inside of one node, or of several nodes if values of
// host_hash differ. Vertices: GPUs (also PCI functions of a GPU's class without a <gpu>, which NCCL fills in itself),
// the other PCI functions, processors, nets, and NVSwitches, which only the links to them name. Links: PCIe at its
// speed times its width after encoding, NVLink and xGMI at `count` times the line rate of one link of the architecture,
// C2C at its `bw`, nets at their `speed` in Mb/s, links between processors without a rate. A link that both of its ends
// state is one link. Error(input) at the faulty element.
NcclTopology read_nccl_system(std::string_view text, const std::string& name);
NetworkGraph read_nccl_topology(std::string_view text, const std::string& name);

}  // namespace mirfak
