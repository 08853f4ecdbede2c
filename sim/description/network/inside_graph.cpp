// The inside of nodes that topology files describe, as vertices and links: processors, PCI Express, network cards, and
// the other links between GPUs. The NVSwitches of a domain are one vertex, as in other nodes; so are cards that serve
// the same GPUs. Cards that no GPU uses are left out.
//
// Latencies: scale-up links have the same as in other nodes. If messages between two GPUs go over PCI Express, the own
// link of a GPU has half of the latency of such a message. Otherwise PCI Express has no latency, because the network
// link's latency covers the whole way to the switch.
#include "network/cube_mesh.hpp"
#include "network/node_inside.hpp"
#include "network/topology_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

// Builder of one node of a cluster.
class InsideGraph {
 public:
  InsideGraph(TopologyBuilder& builder, const NodeGroup& group, int first, const DevicePlace& place, int& index)
      : builder_(builder),
        hardware_(group.hardware),
        inside_(*group.hardware.spec.topology.inside),
        graph_(inside_.file().graph),
        first_(first),
        place_(place),
        index_(index),
        vertex_of_(graph_.vertices.size(), -1) {
    for (int gpu = 0; gpu < inside_.gpus(); ++gpu) gpu_of(gpu) = add_gpu(gpu);
  }

  int& gpu_of(int gpu) { return vertex_of_[at(inside_.vertices()[at(gpu)])]; }

  // Adds processors, PCI functions above GPUs and used cards, and the links between them.
  void add_pcie() {
    const bool own_links = inside_.kind() != ScaleUpKind::none && !inside_.needs_pcie();
    for (std::size_t v = 0; v < vertex_of_.size(); ++v) {
      const NetworkVertex& vertex = graph_.vertices[v];
      if (vertex.kind != VertexKind::host && vertex.kind != VertexKind::other) continue;
      if (vertex.type == "net") continue;
      TopologyVertex added{vertex.kind, place_.domain, index_++, place_.node, 0, 0};
      added.towards_ports = own_links;
      vertex_of_[v] = builder_.add(added);
      builder_.set_name(vertex_of_[v], fmt::format("node {} {}", place_.node, vertex.name), vertex.type);
    }
    const double latency_s = hardware_.peers && !own_links ? hardware_.peers->latency_s.value / 2 : 0;
    for (const NetworkLink& link : graph_.links) {
      const std::string& type = graph_.link_types[at(link.type)];
      const int a = vertex_of_[at(link.a)];
      const int b = vertex_of_[at(link.b)];
      if ((type != "pcie" && type != "between processors" && type != "c2c") || a < 0 || b < 0) continue;
      const bool gpu = link.a < graph_.devices || link.b < graph_.devices;
      const double rate = gpu && link.bandwidth == kNotStated ? hardware_.host_link.bandwidth.value : link.bandwidth;
      builder_.join(a, b, rate, gpu ? latency_s : 0, builder_.link_type(type == "pcie" ? "PCI Express" : type));
    }
  }

  NodePorts add_ports(const NodeGroup& group, int& number) {
    NodePorts out{&group, place_.node, {}, 1, {}, hardware_.network.latency_s.value / 2};
    const int type = builder_.link_type("card to port");
    for (const NodeInside::Port& port : inside_.ports()) {
      const int place = static_cast<int>(out.vertices.size());
      out.vertices.push_back(builder_.add({VertexKind::port, place_.domain, number++, place_.node, place, 0}));
      out.rates.push_back(port.bandwidth);
      out.width = std::max(out.width, static_cast<int>(port.nets.size()));
      for (const int net : port.nets) {
        const NcclNet& of = inside_.file().nets[at(net)];
        builder_.join(card_of(of.vertex), out.vertices.back(), of.bandwidth, 0, type);
      }
    }
    return out;
  }

  // Adds the scale-up links that the file states, or those of the profile.
  void add_links(int node_switch) {
    const int type = builder_.link_type("scale-up link");
    const LinkSpec& link = hardware_.scale_up;
    const bool star = inside_.kind() == ScaleUpKind::switched || inside_.kind() == ScaleUpKind::not_stated;
    const bool mesh = inside_.kind() == ScaleUpKind::not_stated && hardware_.spec.wiring == Wiring::cube_mesh;
    for (int a = 0; a < inside_.gpus(); ++a) {
      const double own = inside_.kind() == ScaleUpKind::switched ? inside_.total(a) : link.bandwidth.value;
      if (star && !mesh && node_switch >= 0 && own > 0) {
        builder_.join(gpu_of(a), node_switch, own, link.latency_s.value / 2, type);
      }
      for (int b = a + 1; b < inside_.gpus(); ++b) {
        const double between = mesh   ? link.bandwidth.value * cube_mesh_links(a, b) / kMeshLinksPerDevice
                               : star ? 0
                                      : inside_.between(a, b);
        if (between > 0) builder_.join(gpu_of(a), gpu_of(b), between, link.latency_s.value, type);
      }
    }
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  // Returns the device or, if ranks share the GPU, a vertex that their devices are joined to.
  int add_gpu(int gpu) {
    const int ranks = hardware_.spec.ranks_per_gpu;
    if (ranks == 1) return first_ + gpu;
    const int vertex = builder_.add({VertexKind::other, place_.domain, index_++, place_.node, 0, 0});
    const NetworkVertex& of = graph_.vertices[at(inside_.vertices()[at(gpu)])];
    builder_.set_name(vertex, fmt::format("node {} {}", place_.node, of.name), "gpu");
    for (int rank = 0; rank < ranks; ++rank) {
      builder_.join(first_ + gpu * ranks + rank, vertex, kNotStated, 0, builder_.link_type("rank on its GPU"));
    }
    return vertex;
  }

  // Returns the card that contains a <net>; a PCI function without a <net> is the card itself.
  int card_of(int vertex) const {
    if (vertex_of_[at(vertex)] >= 0) return vertex_of_[at(vertex)];
    const auto found = std::find_if(graph_.links.begin(), graph_.links.end(),
                                    [&](const NetworkLink& link) { return link.b == vertex; });
    return vertex_of_[at(found->a)];
  }

  TopologyBuilder& builder_;
  const NodeHardware& hardware_;
  const NodeInside& inside_;
  const NetworkGraph& graph_;
  int first_;
  const DevicePlace& place_;
  int& index_;
  std::vector<int> vertex_of_;
};

}  // namespace

void TopologyBuilder::add_described(const NodeGroup& group, int first, const DevicePlace& place) {
  const NodeSpec& spec = group.hardware.spec;
  const NodeInside& inside = *spec.topology.inside;
  const bool switched = inside.kind() == ScaleUpKind::switched ||
                        (inside.kind() == ScaleUpKind::not_stated && spec.wiring == Wiring::switched);
  if (switched && place.domain != domain_of_switch_) {
    node_switch_ = add({VertexKind::node_switch, place.domain, place.domain, place.domain, 0, 0});
    domain_of_switch_ = place.domain;
  }
  InsideGraph graph(*this, group, first, place, described_);
  graph.add_links(switched ? node_switch_ : -1);
  graph.add_pcie();
  NodePorts ports = graph.add_ports(group, ports_);
  for (int device = 0; device < spec.gpus; ++device) {
    std::vector<int> own;
    int sharing = 1;
    const int gpu = device / spec.ranks_per_gpu;
    for (std::size_t port = 0; port < ports.vertices.size(); ++port) {
      const std::vector<int>& of = inside.ports()[port].gpus;
      if (std::find(of.begin(), of.end(), gpu) == of.end()) continue;
      own.push_back(ports.vertices[port]);
      sharing = std::max(sharing, static_cast<int>(of.size()) * spec.ranks_per_gpu);
    }
    set_own_ports(first + device, std::move(own), sharing);
  }
  nodes_.push_back(std::move(ports));
}

}  // namespace mirfak
