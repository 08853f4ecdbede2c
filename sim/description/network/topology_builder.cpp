// Builder of the inside of nodes:
//
//   switched      every device - node switch (shared by the 18 nodes of an NVL72 rack)
//   cube mesh     devices joined directly, by one or two of their six links
//   host bridge   every device - host
//
// and device (or host) - port. Ports that serve the same devices are one vertex with their bandwidths added, because a
// message is striped over them: 8 GPUs with 32 ports of 100 Gb/s have 8 port vertices of 400 Gb/s, 8 GPUs with 4 ports
// share each port between two. Fabrics build the part behind the ports (tree.cpp, dragonfly.cpp, torus.cpp).
//
// Latencies are placed so that they add up along a route: each end of a link carries half of the link's latency, and
// every switch beyond the first adds the fabric's latency.
#include "network/topology_builder.hpp"

#include "base/error.hpp"
#include "network/cube_mesh.hpp"
#include "network/node_inside.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace mirfak {

int TopologyBuilder::link_type(const std::string& name) {
  std::vector<std::string>& types = topology_.link_types_;
  const auto found = std::find(types.begin(), types.end(), name);
  if (found != types.end()) return static_cast<int>(found - types.begin());
  types.push_back(name);
  return static_cast<int>(types.size()) - 1;
}

void TopologyBuilder::join(int a, int b, double bandwidth, double latency_s, int type) {
  // The first of both directions leads from the lower vertex.
  topology_.ends_.push_back(std::min(a, b));
  topology_.ends_.push_back(std::max(a, b));
  topology_.rates_.push_back({bandwidth, latency_s, type});
}

double NodePorts::bandwidth() const { return std::accumulate(rates.begin(), rates.end(), 0.0); }

void TopologyBuilder::set_own_ports(int device, std::vector<int> ports, int sharing) {
  topology_.own_ports_.resize(std::max(topology_.own_ports_.size(), static_cast<std::size_t>(device) + 1));
  topology_.own_ports_[static_cast<std::size_t>(device)] = std::move(ports);
  topology_.port_sharing_[static_cast<std::size_t>(device)] = sharing;
}

void TopologyBuilder::set_name(int vertex, std::string name, std::string type) {
  const auto at = static_cast<std::size_t>(vertex);
  if (topology_.names_.size() <= at) {
    topology_.names_.resize(at + 1);
    topology_.types_.resize(at + 1);
  }
  topology_.names_[at] = std::move(name);
  topology_.types_[at] = std::move(type);
}

void TopologyBuilder::build() {
  const int devices = cluster_->gpus();
  topology_.devices_ = devices;
  topology_.port_sharing_.assign(static_cast<std::size_t>(devices), 1);
  type_scale_up_ = link_type("scale-up link");
  type_host_ = link_type("device to port");
  const NetworkGraph* graph = fabric().graph.get();
  if (graph != nullptr && graph->terminals == Terminals::gpus) {
    if (graph->devices != devices) {
      fail_input(fabric().where,
                 fmt::format("{} has {} GPUs, and the cluster {}", fabric().title(), graph->devices, devices),
                 "a graph of GPUs is the whole cluster: make their numbers equal");
    }
    build_graph(*this, *graph, cluster_);
    topology_.finish(std::move(vertices_));
    return;
  }
  for (int device = 0; device < devices; ++device) {
    const DevicePlace place = cluster_->place_of(device);
    add({VertexKind::device, place.domain, device, place.node, place.local, 0});
  }
  for (const NodeGroup& group : cluster_->groups()) {
    for (int i = 0; i < group.nodes(); ++i) add_node(group, i);
  }
  begin_switches();
  build_fabric();
  topology_.finish(std::move(vertices_));
}

void TopologyBuilder::build(const NetworkGraph& graph) {
  topology_.devices_ = graph.devices;
  topology_.port_sharing_.assign(static_cast<std::size_t>(graph.devices), 1);
  build_graph(*this, graph, nullptr);
  topology_.finish(std::move(vertices_));
}

void TopologyBuilder::build_fabric() {
  switch (fabric().type) {
    case FabricType::full_bisection:
      build_full_bisection(*this, nodes_);
      break;
    case FabricType::rail_optimized:
    case FabricType::rail_only:
    case FabricType::fat_tree:
      build_tree(*this, nodes_);
      break;
    case FabricType::dragonfly:
    case FabricType::dragonfly_plus:
      build_dragonfly(*this, nodes_);
      break;
    case FabricType::torus_2d:
    case FabricType::torus_3d:
      build_torus(*this, nodes_);
      break;
    case FabricType::file:
      build_from_file(*this, nodes_);
      break;
  }
}

void TopologyBuilder::add_node(const NodeGroup& group, int index) {
  const int first = group.first_device + index * group.hardware.spec.gpus;
  const DevicePlace place = cluster_->place_of(first);
  if (group.hardware.spec.topology.inside) return add_described(group, first, place);
  add_inside(group, first, place);
  add_ports(group, first, place);
}

void TopologyBuilder::add_inside(const NodeGroup& group, int first, const DevicePlace& place) {
  const int gpus = group.hardware.spec.gpus;
  const auto star = [&](int centre) {
    for (int i = 0; i < gpus; ++i) {
      const LinkSpec& link = cluster_->group_of(first + i).hardware.scale_up;
      join(first + i, centre, link.bandwidth.value, link.latency_s.value / 2, type_scale_up_);
    }
  };
  switch (group.hardware.spec.wiring) {
    case Wiring::switched:
      if (place.domain != domain_of_switch_) {
        node_switch_ = add({VertexKind::node_switch, place.domain, place.domain, place.domain, 0, 0});
        domain_of_switch_ = place.domain;
      }
      star(node_switch_);
      break;
    case Wiring::cube_mesh:
      for (const MeshLink& pair : kCubeMesh) {
        if (pair.b >= gpus) continue;  // link to a GPU that the job does not use
        const LinkSpec& link = group.hardware.scale_up;
        join(first + pair.a, first + pair.b, link.bandwidth.value * pair.links / kMeshLinksPerDevice,
             link.latency_s.value, type_scale_up_);
      }
      break;
    case Wiring::host_bridge:
      host_ = add({VertexKind::host, place.domain, place.node, place.node, 0, 0});
      star(host_);
      break;
  }
}

void TopologyBuilder::add_ports(const NodeGroup& group, int first, const DevicePlace& place) {
  const NodeSpec& spec = group.hardware.spec;
  const LinkSpec& network = group.hardware.network;
  const bool through_host = spec.wiring == Wiring::host_bridge;
  const int vertices = std::min(spec.ports, spec.gpus);
  NodePorts ports{&group, place.node, {}, (spec.ports + vertices - 1) / vertices, {}, network.latency_s.value / 2};
  ports.rates.assign(static_cast<std::size_t>(vertices), network.bandwidth.value * spec.ports / vertices);
  for (int i = 0; i < vertices; ++i) {
    ports.vertices.push_back(add({VertexKind::port, place.domain, ports_++, place.node, i, 0}));
    if (through_host) join(host_, ports.vertices.back(), ports.rates.front(), 0, type_host_);
  }
  // Devices of a node with the same i * vertices / gpus share a port vertex.
  const auto port_of = [&](int local) { return static_cast<std::size_t>(local * vertices / spec.gpus); };
  std::vector<int> sharing(ports.vertices.size(), 0);
  for (int i = 0; i < spec.gpus; ++i) ++sharing[port_of(i)];
  for (int i = 0; i < spec.gpus; ++i) {
    if (!through_host) {
      join(first + i, ports.vertices[port_of(i)], cluster_->group_of(first + i).hardware.host_link.bandwidth.value, 0,
           type_host_);
    }
    topology_.port_sharing_[static_cast<std::size_t>(first + i)] = through_host ? spec.gpus : sharing[port_of(i)];
  }
  nodes_.push_back(std::move(ports));
}

void build_full_bisection(TopologyBuilder& builder, const std::vector<NodePorts>& nodes) {
  const int centre = builder.add({VertexKind::leaf, -1, 0, -1, 0, 0});
  const int type = builder.link_type("port to switch");
  for (const NodePorts& node : nodes) {
    for (std::size_t i = 0; i < node.vertices.size(); ++i) {
      builder.join(node.vertices[i], centre, node.rates[i], node.latency_s, type);
    }
  }
}

}  // namespace mirfak
