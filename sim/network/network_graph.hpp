#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// What a file may describe, so that a short one cannot ask for more than a machine has.
inline constexpr std::int64_t kMaxVertices = 1'000'000;
inline constexpr std::int64_t kMaxLinks = 4'000'000;
inline constexpr std::size_t kMaxIncludes = 32;  // in one another

// What a vertex does in a network.
enum class VertexKind {
  device,       // a GPU, or a rank where ranks share GPUs
  node_switch,  // NVSwitches of a scale-up domain, taken together
  host,         // processors and PCIe bridges of a node without NVLink
  port,         // network ports of a node that serve the same devices, taken together
  leaf,         // the switches next to the nodes
  spine,        // switches above them, on any level
  router,       // of a dragonfly or a torus
  other,        // whatever else a file describes: switches, processors, network cards
};

// A rate that a file does not state: such links are taken not to bind.
inline constexpr double kNotStated = std::numeric_limits<double>::infinity();

struct NetworkVertex {
  std::string name;  // unique
  std::string type;  // as the file calls it: "xpu", "switch", "pcie_slot"
  VertexKind kind = VertexKind::other;
  bool inside = false;  // of a node (scale-up switches, PCIe switches): no part of the fabric
  Location where;       // of what describes it
};

struct NetworkLink {
  int a = 0;  // vertices
  int b = 0;
  int type = 0;                   // of NetworkGraph::link_types
  double bandwidth = kNotStated;  // bytes/s each way
  double latency_s = 0;
};

// What the devices of a file stand for, when it is the fabric of a cluster.
enum class Terminals {
  gpus,   // GPUs: the file describes nodes, too
  ports,  // network ports of nodes: port i of each node in turn
  nodes,  // whole nodes: all ports of one are joined to it
};

// A network as a file describes it, expanded. Plain data; vertices keep the order of the file, but for devices, which
// come first.
struct NetworkGraph {
  std::string title;   // the name that the file has for itself, or its own
  std::string format;  // "mirfak graph", "InfraGraph", "NCCL topology", "Slurm tree"
  Terminals terminals = Terminals::gpus;
  // Slurm: links state no rates; those of a cluster's ports and of its fabric's oversubscription are given to them.
  bool rates_from_cluster = false;
  std::vector<NetworkVertex> vertices;
  std::vector<NetworkLink> links;
  std::vector<std::string> link_types;
  std::vector<std::pair<std::string, std::string>> facts;  // counts of the format's own: {"nets", "12"}
  std::vector<std::string> notes;                          // what a reader should know: "4 links lead to themselves"
  int devices = 0;                                         // vertices 0 to devices - 1

  int link_type(const std::string& name);  // its index; added when new
  int parts() const;                       // connected components
  // Of each vertex the number of its component, where only links between vertices that count join.
  std::vector<int> part_of_each(const std::function<bool(int)>& counts) const;
};

// Error(input) at the place of the first device, or switch, that the first device does not reach.
void require_connected(const NetworkGraph& graph);

}  // namespace mirfak
