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

// Limits on the size of a described network, so that a short file cannot ask for more memory than a machine has.
inline constexpr std::int64_t kMaxVertices = 1'000'000;
inline constexpr std::int64_t kMaxLinks = 4'000'000;
inline constexpr std::size_t kMaxIncludes = 32;  // depth of nested includes

// Role of a vertex in a network.
enum class VertexKind {
  device,       // GPU, or rank if ranks share GPUs
  node_switch,  // NVSwitches of a scale-up domain, merged
  host,         // processors and PCIe bridges of a node without NVLink
  port,         // network ports of a node that serve the same devices, merged
  leaf,         // switches next to the nodes
  spine,        // switches above the leaves, on any level
  router,       // router of a dragonfly or a torus
  other,        // anything else that a file describes: switches, processors, network cards
};

// Rate of a link whose rate a file does not state: the link is taken not to limit messages.
inline constexpr double kNotStated = std::numeric_limits<double>::infinity();

struct NetworkVertex {
  std::string name;  // unique
  std::string type;  // the file's word for it: "xpu", "switch", "pcie_slot"
  VertexKind kind = VertexKind::other;
  bool inside = false;  // inside a node (scale-up switch, PCIe switch): not part of the fabric
  Location where;       // place of its description
};

struct NetworkLink {
  int a = 0;  // vertices
  int b = 0;
  int type = 0;                   // index into NetworkGraph::link_types
  double bandwidth = kNotStated;  // bytes/s each way
  double latency_s = 0;
};

// Meaning of the devices of a file that describes the fabric of a cluster.
enum class Terminals {
  gpus,   // GPUs: the file describes the nodes as well
  ports,  // network ports of nodes: port i of each node in turn
  nodes,  // whole nodes: all ports of a node are joined to its device
};

// Network as a file describes it, expanded. Plain data. Vertices are ordered as in the file, except that devices come
// first.
struct NetworkGraph {
  std::string title;   // name that the file states for itself, or the file's name
  std::string format;  // "mirfak graph", "InfraGraph", "NCCL topology", "Slurm tree"
  Terminals terminals = Terminals::gpus;
  // True for Slurm files, whose links state no rates: the links get their rates from a cluster's ports and its fabric's
  // oversubscription.
  bool rates_from_cluster = false;
  std::vector<NetworkVertex> vertices;
  std::vector<NetworkLink> links;
  std::vector<std::string> link_types;
  std::vector<std::pair<std::string, std::string>> facts;  // counts that are specific to the format: {"nets", "12"}
  std::vector<std::string> notes;                          // remarks for the reader: "4 links lead to themselves"
  int devices = 0;                                         // vertices 0 to devices - 1

  int link_type(const std::string& name);  // index of the link type, which is added if new
  int parts() const;                       // connected components
  // Returns the component of each vertex, if only links between two vertices that count (`counts`) join them.
  std::vector<int> part_of_each(const std::function<bool(int)>& counts) const;
};

// Error(input) at the place of the first device, or switch, that cannot be reached from the first device.
void require_connected(const NetworkGraph& graph);

}  // namespace mirfak
