// The wiring of a cluster. Inside a node:
//
//   switched      every device - node switch (shared by the 18 nodes of an NVL72 rack)
//   cube mesh     devices joined directly, by one or two of their six links
//   host bridge   every device - host
//
// and outside, device (or host) - port - leaf - spine. Ports that serve the same devices are one vertex with their
// bandwidths added, because a message is striped over them: 8 GPUs with 32 ports of 100 Gb/s have 8 port vertices of
// 400 Gb/s, 8 GPUs with 4 ports share each between two. Rail-optimized: port vertex i of every node of a pod goes to
// the pod's leaf i; fat tree: all of a node's to one leaf. A leaf's uplink carries the bandwidth of its ports divided
// by the oversubscription.
//
// Latencies are placed so that they add up along a route: the ends of a link carry half its latency each, and every
// switch beyond the first adds the fabric's.
#include "network/topology.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <boost/range/iterator_range.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

namespace mirfak {

namespace {

using Graph = Topology::Graph;
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;
using Edge = boost::graph_traits<Graph>::edge_descriptor;

struct MeshLink {
  int a, b, links;
};

// nvidia-smi topo -m of a DGX-1 with V100 (p3.16xlarge has the same): 24 links, 6 of each GPU.
constexpr std::array<MeshLink, 16> kCubeMesh = {{{0, 1, 1},
                                                 {0, 2, 1},
                                                 {0, 3, 2},
                                                 {0, 4, 2},
                                                 {1, 2, 2},
                                                 {1, 3, 1},
                                                 {1, 5, 2},
                                                 {2, 3, 2},
                                                 {2, 6, 1},
                                                 {3, 7, 1},
                                                 {4, 5, 1},
                                                 {4, 6, 1},
                                                 {4, 7, 2},
                                                 {5, 6, 2},
                                                 {5, 7, 1},
                                                 {6, 7, 2}}};
constexpr double kMeshLinksPerDevice = 6;

// A leaf while nodes are being attached to it.
struct Leaf {
  Vertex vertex;
  int ports_left;
  double bandwidth = 0;  // of its links to nodes
};

class TopologyBuilder {
 public:
  TopologyBuilder(const Cluster& cluster, Graph& graph, std::vector<double>& bandwidth, std::vector<int>& port_sharing)
      : cluster_(cluster), graph_(graph), bandwidth_(bandwidth), port_sharing_(port_sharing) {}

  void build() {
    for (int device = 0; device < cluster_.gpus(); ++device) {
      add(VertexKind::device, cluster_.place_of(device).domain, device);
    }
    for (const NodeGroup& group : cluster_.groups()) {
      for (int i = 0; i < group.count; ++i) add_node(group, i);
    }
    join_leaves();
  }

 private:
  Vertex add(VertexKind kind, int domain, int index) { return boost::add_vertex({kind, domain, index}, graph_); }

  void join(Vertex a, Vertex b, double bandwidth, double latency_s) {
    boost::add_edge(a, b, {static_cast<int>(bandwidth_.size()), bandwidth, latency_s}, graph_);
    bandwidth_.push_back(bandwidth);
  }

  void add_node(const NodeGroup& group, int index) {
    const NodeSpec& spec = group.hardware.spec;
    const int first = group.first_device + index * spec.gpus;
    const DevicePlace place = cluster_.place_of(first);
    switch (spec.wiring) {
      case Wiring::switched:
        add_switched(group, first, place.domain);
        break;
      case Wiring::cube_mesh:
        add_cube_mesh(group, first);
        break;
      case Wiring::host_bridge:
        add_host(group, first, place);
        break;
    }
    add_ports(group, first, place);
  }

  void add_switched(const NodeGroup& group, int first, int domain) {
    const LinkSpec& link = group.hardware.scale_up;
    if (domain != domain_of_switch_) {
      node_switch_ = add(VertexKind::node_switch, domain, domain);
      domain_of_switch_ = domain;
    }
    for (int i = 0; i < group.hardware.spec.gpus; ++i) {
      join(device(first + i), node_switch_, link.bandwidth.value, link.latency_s.value / 2);
    }
  }

  void add_cube_mesh(const NodeGroup& group, int first) {
    const LinkSpec& link = group.hardware.scale_up;
    for (const MeshLink& pair : kCubeMesh) {
      join(device(first + pair.a), device(first + pair.b), link.bandwidth.value * pair.links / kMeshLinksPerDevice,
           link.latency_s.value);
    }
  }

  void add_host(const NodeGroup& group, int first, const DevicePlace& place) {
    const LinkSpec& link = group.hardware.scale_up;
    host_ = add(VertexKind::host, place.domain, place.node);
    for (int i = 0; i < group.hardware.spec.gpus; ++i) {
      join(device(first + i), host_, link.bandwidth.value, link.latency_s.value / 2);
    }
  }

  void add_ports(const NodeGroup& group, int first, const DevicePlace& place) {
    const NodeSpec& spec = group.hardware.spec;
    const LinkSpec& network = group.hardware.network;
    const int vertices = std::min(spec.ports, spec.gpus);
    const double bandwidth = network.bandwidth.value * spec.ports / vertices;
    // Of the devices of a node, those with the same i * vertices / gpus share a port vertex.
    const auto port_of = [&](int local) { return local * vertices / spec.gpus; };
    std::vector<Vertex> ports;
    for (int i = 0; i < vertices; ++i) {
      ports.push_back(add(VertexKind::port, place.domain, ports_++));
      if (spec.wiring == Wiring::host_bridge) join(host_, ports.back(), bandwidth, 0);
    }
    std::vector<int> sharing(ports.size(), 0);
    for (int i = 0; i < spec.gpus; ++i) ++sharing[static_cast<std::size_t>(port_of(i))];
    for (int i = 0; i < spec.gpus; ++i) {
      const auto port = static_cast<std::size_t>(port_of(i));
      if (spec.wiring != Wiring::host_bridge) {
        join(device(first + i), ports[port], group.hardware.host_link.bandwidth.value, 0);
      }
      port_sharing_[static_cast<std::size_t>(first + i)] =
          spec.wiring == Wiring::host_bridge ? spec.gpus : sharing[port];
    }
    attach(ports, (spec.ports + vertices - 1) / vertices, bandwidth, network.latency_s.value / 2);
  }

  // Joins the port vertices of one node, of `width` physical ports each, to leaves.
  void attach(const std::vector<Vertex>& ports, int width, double bandwidth, double latency_s) {
    const FabricType type = cluster_.fabric().type;
    const bool rails = type == FabricType::rail_optimized;
    const int needed = rails ? width : width * static_cast<int>(ports.size());
    if (type != FabricType::full_bisection && !pod_.empty() && pod_.front().ports_left < needed) close_pod();
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const std::size_t rail = rails ? i : 0;
      while (pod_.size() <= rail) {
        const int taken = pod_.empty() ? 0 : cluster_.fabric().leaf_ports - pod_.front().ports_left;
        pod_.push_back({add(VertexKind::leaf, -1, leaves_++), cluster_.fabric().leaf_ports - taken});
      }
      join(ports[i], pod_[rail].vertex, bandwidth, latency_s);
      pod_[rail].bandwidth += bandwidth;
    }
    // Leaves of a pod fill together, so that a node finds room on all of its rails or on none.
    for (Leaf& leaf : pod_) leaf.ports_left -= needed;
  }

  void close_pod() {
    full_.insert(full_.end(), pod_.begin(), pod_.end());
    pod_.clear();
  }

  void join_leaves() {
    close_pod();
    if (full_.size() < 2) return;
    const Vertex spine = add(VertexKind::spine, -1, 0);
    const Fabric& fabric = cluster_.fabric();
    for (const Leaf& leaf : full_) {
      join(leaf.vertex, spine, leaf.bandwidth / fabric.oversubscription, fabric.switch_latency_s.value);
    }
  }

  static Vertex device(int index) { return static_cast<Vertex>(index); }

  const Cluster& cluster_;
  Graph& graph_;
  std::vector<double>& bandwidth_;
  std::vector<int>& port_sharing_;
  std::vector<Leaf> pod_;   // the leaves that take the next nodes
  std::vector<Leaf> full_;  // those that are done
  Vertex node_switch_ = 0;
  Vertex host_ = 0;
  int domain_of_switch_ = -1;
  int ports_ = 0;
  int leaves_ = 0;
};

// Fewest links first, then least latency; whole picoseconds, so that equal sums are equal.
struct Cost {
  int links = 0;
  std::int64_t picoseconds = 0;

  friend auto operator<=>(const Cost&, const Cost&) = default;
  friend Cost operator+(const Cost& a, const Cost& b) { return {a.links + b.links, a.picoseconds + b.picoseconds}; }
};

Cost cost_of(const TopologyEdge& edge) { return {1, std::llround(edge.latency_s * 1e12)}; }

// The vertices a route between two domains may use; inside one domain, not even its ports.
struct Passable {
  const Graph* graph = nullptr;
  int from = 0;
  int to = 0;

  bool operator()(Vertex vertex) const {
    const TopologyVertex& at = (*graph)[vertex];
    if (from == to) return at.domain == from && at.kind != VertexKind::port;
    return at.domain < 0 || at.domain == from || at.domain == to;
  }
};

using Part = boost::filtered_graph<Graph, boost::keep_all, Passable>;

// Of the best way from `source` to every vertex of `part`, by vertex.
std::vector<Cost> costs_from(Vertex source, const Part& part, const Graph& graph) {
  const Cost unreached{std::numeric_limits<int>::max() / 2, 0};
  std::vector<Cost> cost(boost::num_vertices(graph), unreached);
  const auto weight = [&graph](const Edge& edge) { return cost_of(graph[edge]); };
  boost::dijkstra_shortest_paths(
      part, source,
      boost::distance_map(boost::make_iterator_property_map(cost.begin(), boost::get(boost::vertex_index, graph)))
          .weight_map(boost::make_function_property_map<Edge>(weight))
          .distance_inf(unreached)
          .distance_zero(Cost())
          .distance_combine(std::plus<>())
          .distance_compare(std::less<>()));
  return cost;
}

// The last edge of the best way to `at`; of equally good ones that from the lowest vertex. Its target is that vertex.
Edge last_step(Vertex at, const std::vector<Cost>& cost, const Part& part, const Graph& graph) {
  std::optional<Edge> step;
  for (const Edge& edge : boost::make_iterator_range(boost::out_edges(at, part))) {
    const Vertex before = boost::target(edge, part);
    const bool on_way = cost[before] + cost_of(graph[edge]) == cost[at];
    if (on_way && (!step || before < boost::target(*step, part))) step = edge;
  }
  if (!step) fail_internal("a device of the cluster cannot be reached");
  return *step;
}

}  // namespace

Topology::Topology(const Cluster& cluster) : devices_(cluster.gpus()) {
  port_sharing_.resize(static_cast<std::size_t>(devices_));
  TopologyBuilder(cluster, graph_, bandwidth_, port_sharing_).build();
}

Route Topology::route(int from, int to) const {
  Route route;
  route.bandwidth = std::numeric_limits<double>::infinity();
  if (from == to) return route;
  // Always sought from the lower device, so that both directions are the same way.
  const auto [source, target] = std::minmax({static_cast<Vertex>(from), static_cast<Vertex>(to)});
  const Part part(graph_, boost::keep_all(), {&graph_, graph_[source].domain, graph_[target].domain});
  const std::vector<Cost> cost = costs_from(source, part, graph_);

  for (Vertex at = target; at != source;) {
    const Edge step = last_step(at, cost, part, graph_);
    const Vertex before = boost::target(step, part);
    const TopologyEdge& edge = graph_[step];
    const auto [sender, receiver] = from < to ? std::pair(before, at) : std::pair(at, before);
    route.links.push_back(2 * edge.index + (sender < receiver ? 0 : 1));
    route.bandwidth = std::min(route.bandwidth, edge.bandwidth);
    route.latency_s += edge.latency_s;
    at = before;
  }
  if (from < to) std::reverse(route.links.begin(), route.links.end());
  return route;
}

int Topology::devices_sharing_port(int device) const { return port_sharing_[static_cast<std::size_t>(device)]; }

std::string describe(const TopologyVertex& vertex) {
  constexpr std::array<std::string_view, 6> nouns = {"device", "node switch", "host", "port", "leaf switch", "spine"};
  return fmt::format("{} {}", nouns[static_cast<std::size_t>(vertex.kind)], vertex.index);
}

}  // namespace mirfak
