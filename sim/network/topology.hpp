#pragma once

#include "cluster/cluster.hpp"

#include <boost/graph/adjacency_list.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

enum class VertexKind {
  device,
  node_switch,  // NVSwitches of a scale-up domain, taken together
  host,         // processors and PCIe bridges of a node without NVLink
  port,         // network ports of a node that serve the same devices, taken together
  leaf,
  spine,  // all spines together: traffic spreads evenly over them
};

struct TopologyVertex {
  VertexKind kind = VertexKind::device;
  int domain = -1;  // scale-up domain; -1 for leaves and spines
  int index = 0;    // of its kind: devices, node switches (by domain), hosts (by node), ports, leaves over the cluster
};

struct TopologyEdge {
  int index = 0;         // of the edge, from 0
  double bandwidth = 0;  // bytes/s in each direction, line rate
  double latency_s = 0;
};

// A way through the topology. `links` are directed: 2 * edge index from the lower to the higher vertex, plus 1 for
// the other direction.
struct Route {
  std::vector<int> links;
  double bandwidth = 0;  // of the narrowest link; infinite for a device to itself
  double latency_s = 0;
};

// The cluster as a graph of devices, switches and ports. Two messages meet where their routes share a directed link.
class Topology {
 public:
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, TopologyVertex, TopologyEdge>;

  explicit Topology(const Cluster& cluster);

  // Vertices 0 to devices() - 1 are the devices, in the order of the cluster.
  const Graph& graph() const { return graph_; }
  int devices() const { return devices_; }
  int links() const { return 2 * static_cast<int>(boost::num_edges(graph_)); }
  double link_bandwidth(int link) const { return bandwidth_[static_cast<std::size_t>(link / 2)]; }

  // The route with the fewest links, of these the least latency, of these the lowest vertices. Between devices of a
  // scale-up domain it stays inside; a third domain is never entered. route(b, a) is route(a, b) backwards.
  Route route(int from, int to) const;

  // Devices of the same node that send through the same ports as `device`, itself included.
  int devices_sharing_port(int device) const;

 private:
  Graph graph_;
  std::vector<double> bandwidth_;  // of each edge
  std::vector<int> port_sharing_;  // of each device
  int devices_ = 0;
};

std::string describe(const TopologyVertex& vertex);  // "device 13", "leaf switch 2"

}  // namespace mirfak
