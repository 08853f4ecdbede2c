#pragma once

#include "cluster/cluster.hpp"
#include "network/network_graph.hpp"

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

struct TopologyVertex {
  VertexKind kind = VertexKind::device;
  int domain = -1;  // scale-up domain; -1 for the switches of the fabric
  int index = 0;    // index among the vertices of its kind (node switches by domain, hosts by node, ...) in the cluster
  int group = -1;   // node of a port or host; pod of a leaf, block of a spine, group of a router; -1: none
  int place = 0;    // position in that group
  int level = 0;    // leaves 0, spines 1 and up
  // True for PCI Express vertices of a node whose GPUs have links of their own: no route from GPU to GPU crosses them.
  bool towards_ports = false;
};

// Directed link. Both directions of a cable are links: 2 * cable and 2 * cable + 1.
struct TopologyEdge {
  int link = 0;
  double bandwidth = 0;  // bytes/s, line rate; infinite if a file states none
  double latency_s = 0;
};

// Path through the topology, as directed links.
struct Route {
  std::vector<int> links;
  double bandwidth = 0;  // bandwidth of the narrowest link; infinite for a device to itself
  double latency_s = 0;
};

// Path from a device into the fabric: links from the device to its port (or through its host), and on to a switch.
struct Attachment {
  int entry = 0;           // first vertex of the fabric on the path
  std::vector<int> links;  // directed, from the device to `entry`; link ^ 1 is the way back
};

// Cluster as a graph of devices, switches and ports. Two messages compete if their routes share a directed link.
// Physical links stay separate: oversubscription divides the bandwidth of uplinks, not their number. Only the ports of
// a node that serve the same devices are merged into one link, because a message is striped over them.
//
// Vertices are numbered: first the devices in the order of the cluster, then the vertices inside nodes, then the
// switches of the fabric from first_switch() on.
class Topology {
 public:
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, TopologyVertex, TopologyEdge, boost::no_property,
                                                   std::uint32_t, std::uint32_t>;

  // Builds the topology of a cluster. Error(infeasible or input) if the fabric cannot join the cluster's nodes: a torus
  // that is too small, or a file with another number of devices.
  explicit Topology(const Cluster& cluster);
  explicit Topology(const NetworkGraph& graph);  // topology of a file alone

  const Graph& graph() const { return graph_; }
  int devices() const { return devices_; }
  int vertices() const { return static_cast<int>(boost::num_vertices(graph_)); }
  int first_switch() const { return first_switch_; }
  int links() const { return static_cast<int>(ends_.size()); }
  double link_bandwidth(int link) const { return rates_[static_cast<std::size_t>(link / 2)].bandwidth; }
  double link_latency_s(int link) const { return rates_[static_cast<std::size_t>(link / 2)].latency_s; }
  int link_source(int link) const { return ends_[static_cast<std::size_t>(link)]; }
  int link_target(int link) const { return ends_[static_cast<std::size_t>(link ^ 1)]; }

  // Stable, readable names: "device 13", "pod 0 leaf 3", "pod 0 leaf 3 -> spine 2".
  std::string name(int vertex) const;
  std::string link_name(int link) const;
  std::string vertex_type(int vertex) const;     // "leaf switch"; for a file, the file's word
  const std::string& link_type(int link) const;  // "leaf to spine"; for a file, the name of its link
  const std::vector<std::string>& link_types() const { return link_types_; }
  const std::vector<int>& dimensions() const { return dimensions_; }  // size of a torus, in routers; else empty

  // Returns the route with the fewest links; among these, the one with the least latency, then with the lowest
  // vertices. Between devices of one scale-up domain the route stays inside the domain; it never enters a third domain.
  // route(b, a) is route(a, b) backwards.
  Route route(int from, int to) const;

  // Number of devices of the same node that send through the same ports as `device`, itself included.
  int devices_sharing_port(int device) const { return port_sharing_[static_cast<std::size_t>(device)]; }

  // Returns all paths of a device into the fabric, through its own ports first. The other ports of its node belong to
  // its neighbors in the scale-up domain. Empty: the device has no path.
  std::span<const Attachment> attachments(int device) const;

 private:
  friend class TopologyBuilder;
  struct Rate {
    double bandwidth = 0;
    double latency_s = 0;
    int type = 0;
  };

  void finish(std::vector<TopologyVertex> vertices);
  void find_attachments();
  // Returns the path with the fewest links from a device over PCI Express to one of its own ports.
  std::vector<int> way_to_port(int device, int port) const;

  Graph graph_;
  std::vector<int> ends_;    // source vertices of directed links
  std::vector<Rate> rates_;  // one per cable, for both directions
  std::vector<std::string> link_types_;
  std::vector<int> port_sharing_;  // one per device
  std::vector<std::vector<Attachment>> attachments_;
  // Ports of devices whose nodes a file describes; empty: devices are joined to their ports.
  std::vector<std::vector<int>> own_ports_;
  std::vector<int> dimensions_;     // size of a torus
  std::vector<std::string> names_;  // names of a file's vertices, "" for others; empty: all names are generated
  std::vector<std::string> types_;
  int devices_ = 0;
  int first_switch_ = 0;
};

std::string describe(const TopologyVertex& vertex);  // "device 13", "leaf switch 2"

}  // namespace mirfak
