// Topologies from graphs that files describe: the whole topology (devices are GPUs), or the part behind the ports or
// the nodes of a cluster.
#include "network/topology_builder.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Groups devices and vertices inside nodes by the links that do not leave a node: returns for each vertex the lowest
// device of its node; -1 for the fabric.
std::vector<int> lowest_device(const NetworkGraph& graph) {
  const auto inside = [&](int v) { return v < graph.devices || graph.vertices[at(v)].inside; };
  const std::vector<int> part = graph.part_of_each(inside);
  const std::size_t n = graph.vertices.size();
  std::vector<int> lowest(n, -1);  // lowest device of each part
  for (int v = graph.devices; v-- > 0;) lowest[at(part[at(v)])] = v;
  std::vector<int> out(n, -1);
  for (int v = 0; v < static_cast<int>(n); ++v) {
    if (inside(v)) out[at(v)] = lowest[at(part[at(v)])];
  }
  return out;
}

void join_links(TopologyBuilder& builder, const NetworkGraph& graph, const std::vector<int>& vertex_of) {
  std::vector<int> types;
  for (const std::string& name : graph.link_types) types.push_back(builder.link_type(name));
  for (const NetworkLink& link : graph.links) {
    builder.join(vertex_of[at(link.a)], vertex_of[at(link.b)], link.bandwidth, link.latency_s, types[at(link.type)]);
  }
}

void require_count(const Fabric& fabric, int found, int wanted, const char* what, bool more_is_fine) {
  if (found == wanted || (more_is_fine && found > wanted)) return;
  fail_input(fabric.where, fmt::format("{} has {} {}, and the cluster {}", fabric.title(), found, what, wanted),
             "a file joins the cluster's nodes, ports or GPUs one by one: make their numbers equal");
}

// Builder for the switches of a scheduler's file that have nodes of the cluster below them. Each switch is joined to
// its parent by as many uplinks as it has links downwards.
class PlacementBuilder {
 public:
  PlacementBuilder(TopologyBuilder& builder, const NetworkGraph& graph)
      : builder_(builder),
        graph_(graph),
        parent_(graph.vertices.size(), -1),
        vertex_(graph.vertices.size(), -1),
        height_(graph.vertices.size(), 0),
        links_(graph.vertices.size(), 0),
        bandwidth_(graph.vertices.size(), 0.0) {
    for (const NetworkLink& link : graph.links) parent_[at(link.a)] = link.b;
  }

  void build(const std::vector<NodePorts>& nodes) {
    const int type = builder_.link_type("port to leaf");
    std::vector<int> level;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const int leaf = parent_[i];
      if (leaf < 0) fail_input(graph_.vertices[i].where, graph_.vertices[i].name + " is below no switch");
      if (vertex_[at(leaf)] < 0) add(leaf, VertexKind::leaf, 0, level);
      for (std::size_t port = 0; port < nodes[i].vertices.size(); ++port) {
        count(leaf, nodes[i].vertices[port], nodes[i].rates[port], nodes[i].latency_s, type);
      }
    }
    while (level.size() > 1) level = join_up(level);
  }

 private:
  void add(int v, VertexKind kind, int height, std::vector<int>& level) {
    height_[at(v)] = height;
    vertex_[at(v)] = builder_.add({kind, -1, v - graph_.devices, -1, 0, height});
    builder_.set_name(vertex_[at(v)], graph_.vertices[at(v)].name, graph_.vertices[at(v)].type);
    level.push_back(v);
  }

  void count(int v, int below, double bandwidth, double latency_s, int type) {
    builder_.join(below, vertex_[at(v)], bandwidth, latency_s, type);
    ++links_[at(v)];
    bandwidth_[at(v)] += bandwidth;
  }

  // Joins the lowest switches of `level` to their parents, and returns these parents with the switches that are left.
  std::vector<int> join_up(const std::vector<int>& level) {
    int lowest = height_[at(level.front())];
    for (const int v : level) lowest = std::min(lowest, height_[at(v)]);
    std::vector<int> out;
    int stuck = 0;
    for (const int v : level) {
      if (height_[at(v)] > lowest || parent_[at(v)] < 0) {
        stuck += parent_[at(v)] < 0 ? 1 : 0;
        out.push_back(v);
      }
    }
    for (const int v : level) {
      const int parent = parent_[at(v)];
      if (height_[at(v)] > lowest || parent < 0) continue;
      if (vertex_[at(parent)] < 0) add(parent, VertexKind::spine, lowest + 1, out);
      const int uplinks = links_[at(v)];
      const double each = bandwidth_[at(v)] / uplinks / oversubscription(lowest);
      const int type = builder_.link_type(fmt::format("level {} to {}", lowest, lowest + 1));
      for (int i = 0; i < uplinks; ++i) count(parent, vertex_[at(v)], each, builder_.switch_latency_s(), type);
    }
    for (const int v : out) {
      if (parent_[at(v)] < 0 && height_[at(v)] == lowest) height_[at(v)] = lowest + 1;
    }
    if (stuck > 1 && stuck == static_cast<int>(out.size())) {
      fail_input(graph_.vertices[at(out[1])].where,
                 fmt::format("no switch joins {} and {}: the nodes of the cluster would be in parts",
                             graph_.vertices[at(out[0])].name, graph_.vertices[at(out[1])].name),
                 "join them by a switch above both, or take fewer nodes");
    }
    return out;
  }

  double oversubscription(int height) const {
    const Fabric& fabric = builder_.fabric();
    if (fabric.levels.empty()) return height == 0 ? fabric.oversubscription : 1;
    return at(height) < fabric.levels.size() ? fabric.levels[at(height)].oversubscription : 1;
  }

  TopologyBuilder& builder_;
  const NetworkGraph& graph_;
  std::vector<int> parent_;
  std::vector<int> vertex_;
  std::vector<int> height_;
  std::vector<int> links_;
  std::vector<double> bandwidth_;
};

}  // namespace

void build_graph(TopologyBuilder& builder, const NetworkGraph& graph, const Cluster* cluster) {
  const std::vector<int> lowest = lowest_device(graph);
  std::vector<int> vertex_of(graph.vertices.size(), -1);
  const auto take = [&](int v) {
    const NetworkVertex& vertex = graph.vertices[at(v)];
    const int domain = lowest[at(v)] < 0    ? -1
                       : cluster != nullptr ? cluster->place_of(lowest[at(v)]).domain
                                            : lowest[at(v)];
    vertex_of[at(v)] = builder.add({vertex.kind, domain, v, -1, 0, 0});
    builder.set_name(vertex_of[at(v)], vertex.name, vertex.type);
  };
  const int n = static_cast<int>(graph.vertices.size());
  for (int v = 0; v < graph.devices; ++v) take(v);
  for (int v = graph.devices; v < n; ++v) {
    if (lowest[at(v)] >= 0) take(v);
  }
  builder.begin_switches();
  for (int v = graph.devices; v < n; ++v) {
    if (lowest[at(v)] < 0) take(v);
  }
  join_links(builder, graph, vertex_of);
}

void build_from_file(TopologyBuilder& builder, const std::vector<NodePorts>& nodes) {
  const Fabric& fabric = builder.fabric();
  if (!fabric.graph) fail_internal("the file of a fabric was not read");
  const NetworkGraph& graph = *fabric.graph;
  if (graph.rates_from_cluster) {
    require_count(fabric, graph.devices, static_cast<int>(nodes.size()), "nodes", true);
    PlacementBuilder(builder, graph).build(nodes);
    return;
  }
  std::vector<int> vertex_of(graph.vertices.size(), -1);
  int port_count = 0;
  for (const NodePorts& node : nodes) port_count += static_cast<int>(node.vertices.size());
  const bool by_node = graph.terminals == Terminals::nodes;
  require_count(fabric, graph.devices, by_node ? static_cast<int>(nodes.size()) : port_count,
                by_node ? "nodes" : "ports", false);
  const auto take = [&](int v) {
    vertex_of[at(v)] = builder.add({VertexKind::other, -1, v, -1, 0, 0});
    builder.set_name(vertex_of[at(v)], graph.vertices[at(v)].name, graph.vertices[at(v)].type);
  };
  const int type = builder.link_type("port to switch");
  int next = 0;
  for (const NodePorts& node : nodes) {
    if (by_node) {
      take(next);
      for (std::size_t port = 0; port < node.vertices.size(); ++port) {
        builder.join(node.vertices[port], vertex_of[at(next)], node.rates[port], node.latency_s, type);
      }
      ++next;
      continue;
    }
    for (const int port : node.vertices) vertex_of[at(next++)] = port;
  }
  for (int v = graph.devices; v < static_cast<int>(graph.vertices.size()); ++v) take(v);
  join_links(builder, graph, vertex_of);
}

}  // namespace mirfak
