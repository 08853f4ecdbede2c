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
  int index = 0;    // of its kind: devices, node switches (by domain), hosts (by node), ports, ... over the cluster
  int group = -1;   // node of a port or host; pod of a leaf, block of a spine, group of a router; -1: none
  int place = 0;    // within that group
  int level = 0;    // of a leaf 0, of spines 1 and up
  // PCI Express of a node whose GPUs have links of their own between them: no way from one to another.
  bool towards_ports = false;
};

// A directed link. Both directions of a cable are links: 2 * cable and 2 * cable + 1.
struct TopologyEdge {
  int link = 0;
  double bandwidth = 0;  // bytes/s, line rate; infinite where a file states none
  double latency_s = 0;
};

// A way through the topology, as directed links.
struct Route {
  std::vector<int> links;
  double bandwidth = 0;  // of the narrowest link; infinite for a device to itself
  double latency_s = 0;
};

// One way from a device into the fabric: links from the device to its port (or through its host), and on to a switch.
struct Attachment {
  int entry = 0;           // the first vertex of the fabric
  std::vector<int> links;  // directed, from the device to `entry`; ^ 1 is the way back
};

// The cluster as a graph of devices, switches and ports. Two messages meet where their routes share a directed link.
// Physical links stay individual: oversubscription divides the bandwidth of uplinks, never their number. Only the ports
// of a node that serve the same devices are one link, because a message is striped over them.
//
// Vertices are numbered: devices in the order of the cluster, then what is inside nodes, then the switches of the
// fabric from first_switch() on.
class Topology {
 public:
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, TopologyVertex, TopologyEdge, boost::no_property,
                                                   std::uint32_t, std::uint32_t>;

  // Error(infeasible or input) where the fabric cannot join the cluster's nodes: a torus that is too small, a file with
  // another number of devices.
  explicit Topology(const Cluster& cluster);
  explicit Topology(const NetworkGraph& graph);  // of a file alone

  const Graph& graph() const { return graph_; }
  int devices() const { return devices_; }
  int vertices() const { return static_cast<int>(boost::num_vertices(graph_)); }
  int first_switch() const { return first_switch_; }
  int links() const { return static_cast<int>(ends_.size()); }
  double link_bandwidth(int link) const { return rates_[static_cast<std::size_t>(link / 2)].bandwidth; }
  double link_latency_s(int link) const { return rates_[static_cast<std::size_t>(link / 2)].latency_s; }
  int link_source(int link) const { return ends_[static_cast<std::size_t>(link)]; }
  int link_target(int link) const { return ends_[static_cast<std::size_t>(link ^ 1)]; }

  // Stable and readable: "device 13", "pod 0 leaf 3", "pod 0 leaf 3 -> spine 2".
  std::string name(int vertex) const;
  std::string link_name(int link) const;
  std::string vertex_type(int vertex) const;     // "leaf switch"; of a file what the file calls it
  const std::string& link_type(int link) const;  // "leaf to spine"; of a file the name of its link
  const std::vector<std::string>& link_types() const { return link_types_; }
  const std::vector<int>& dimensions() const { return dimensions_; }  // of a torus, in routers; else empty

  // The route with the fewest links, of these the least latency, of these the lowest vertices. Between devices of a
  // scale-up domain it stays inside; a third domain is never entered. route(b, a) is route(a, b) backwards.
  Route route(int from, int to) const;

  // Devices of the same node that send through the same ports as `device`, itself included.
  int devices_sharing_port(int device) const { return port_sharing_[static_cast<std::size_t>(device)]; }

  // All ways of a device into the fabric, its own ports first; other ports of its node
  // are those of its neighbours in the scale-up domain. Empty: it has none.
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
  // The way with the fewest links from a device over PCI Express to a port of its own.
  std::vector<int> way_to_port(int device, int port) const;

  Graph graph_;
  std::vector<int> ends_;    // sources of directed links
  std::vector<Rate> rates_;  // of both directions of a cable
  std::vector<std::string> link_types_;
  std::vector<int> port_sharing_;  // of each device
  std::vector<std::vector<Attachment>> attachments_;
  std::vector<std::vector<int>> own_ports_;  // of devices of nodes that a file describes; empty: joined to their ports
  std::vector<int> dimensions_;              // of a torus
  std::vector<std::string> names_;           // of vertices of a file, "" for others; empty: all have made names
  std::vector<std::string> types_;
  int devices_ = 0;
  int first_switch_ = 0;
};

std::string describe(const TopologyVertex& vertex);  // "device 13", "leaf switch 2"

}  // namespace mirfak
