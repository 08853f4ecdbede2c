#pragma once

#include "network/topology.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Port vertices of one node, which a fabric joins to its switches.
struct NodePorts {
  const NodeGroup* group = nullptr;
  int node = 0;
  std::vector<int> vertices;
  int width = 1;              // physical ports per vertex
  std::vector<double> rates;  // bytes/s of each vertex
  double latency_s = 0;       // latency of one end of a cable: half of the network link's

  double bandwidth() const;  // sum over all vertices
};

// Builder that collects the vertices and cables of a topology.
class TopologyBuilder {
 public:
  TopologyBuilder(const Cluster& cluster, Topology& topology) : cluster_(&cluster), topology_(topology) {}
  explicit TopologyBuilder(Topology& topology) : topology_(topology) {}  // builder for a file alone
  TopologyBuilder(const TopologyBuilder&) = delete;
  TopologyBuilder& operator=(const TopologyBuilder&) = delete;

  const Cluster& cluster() const { return *cluster_; }
  const Fabric& fabric() const { return cluster_->fabric(); }
  double switch_latency_s() const { return fabric().switch_latency_s.value; }
  int add(TopologyVertex vertex) {
    vertices_.push_back(vertex);
    return static_cast<int>(vertices_.size()) - 1;
  }
  int link_type(const std::string& name);
  void join(int a, int b, double bandwidth, double latency_s, int type);
  void set_dimensions(std::vector<int> dimensions) { topology_.dimensions_ = std::move(dimensions); }
  void set_own_ports(int device, std::vector<int> ports, int sharing);
  void set_name(int vertex, std::string name, std::string type);

  // All other vertices are added.
  void begin_switches() { topology_.first_switch_ = static_cast<int>(vertices_.size()); }

  void build();
  void build(const NetworkGraph& graph);

 private:
  void add_node(const NodeGroup& group, int index);
  void add_inside(const NodeGroup& group, int first, const DevicePlace& place);
  void add_ports(const NodeGroup& group, int first, const DevicePlace& place);
  // Adds a node with a topology file: inside_graph.cpp.
  void add_described(const NodeGroup& group, int first, const DevicePlace& place);

  void build_fabric();

  const Cluster* cluster_ = nullptr;
  Topology& topology_;
  std::vector<TopologyVertex> vertices_;
  std::vector<NodePorts> nodes_;
  int node_switch_ = 0;
  int host_ = 0;
  int domain_of_switch_ = -1;
  int described_ = 0;  // vertices inside nodes that files describe
  int ports_ = 0;
  int type_scale_up_ = 0;
  int type_host_ = 0;
};

// Join the ports of all nodes by the switches of one kind of fabric; each function builds one kind.
void build_full_bisection(TopologyBuilder& builder, const std::vector<NodePorts>& nodes);
void build_tree(TopologyBuilder& builder, const std::vector<NodePorts>& nodes);  // rail-optimized, rail-only, fat tree
void build_dragonfly(TopologyBuilder& builder, const std::vector<NodePorts>& nodes);
void build_torus(TopologyBuilder& builder, const std::vector<NodePorts>& nodes);
// Adds the whole graph of a file; with a cluster, the devices of the file are the cluster's GPUs.
void build_graph(TopologyBuilder& builder, const NetworkGraph& graph, const Cluster* cluster);
void build_from_file(TopologyBuilder& builder, const std::vector<NodePorts>& nodes);

}  // namespace mirfak
