#include "network/topology.hpp"

#include "base/error.hpp"
#include "network/topology_builder.hpp"

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
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

using Graph = Topology::Graph;
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;
using Edge = boost::graph_traits<Graph>::edge_descriptor;

// Cost of a path: fewest links first, then least latency, in whole picoseconds so that equal sums compare equal.
struct Cost {
  int links = 0;
  std::int64_t picoseconds = 0;

  friend auto operator<=>(const Cost&, const Cost&) = default;
  friend Cost operator+(const Cost& a, const Cost& b) { return {a.links + b.links, a.picoseconds + b.picoseconds}; }
};

Cost cost_of(const TopologyEdge& edge) { return {1, std::llround(edge.latency_s * 1e12)}; }

// Predicate for the vertices that a route between two domains may use; a route inside one domain may not use ports.
struct Passable {
  const Graph* graph = nullptr;
  int from = 0;
  int to = 0;

  bool operator()(Vertex vertex) const {
    const TopologyVertex& at = (*graph)[vertex];
    if (from == to) return at.domain == from && at.kind != VertexKind::port && !at.towards_ports;
    return at.domain < 0 || at.domain == from || at.domain == to;
  }
};

using Part = boost::filtered_graph<Graph, boost::keep_all, Passable>;

// Returns the cost of the best path from `source` to every vertex of `part`, by vertex.
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

// Returns the last edge of the best path to `at`, reversed: its target is the vertex before `at`. Among equally good
// paths the one from the lowest vertex is taken.
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

std::string grouped(const char* noun, const TopologyVertex& vertex, std::string_view what) {
  if (vertex.group < 0) return fmt::format("{} {}", what, vertex.index);
  return fmt::format("{} {} {} {}", noun, vertex.group, what, vertex.place);
}

std::string torus_name(int place, const std::vector<int>& dimensions) {
  std::string out = "router";
  char separator = ' ';
  for (const int size : dimensions) {
    out += fmt::format("{}{}", separator, place % size);
    place /= size;
    separator = '.';
  }
  return out;
}

}  // namespace

Topology::Topology(const Cluster& cluster) { TopologyBuilder(cluster, *this).build(); }

Topology::Topology(const NetworkGraph& graph) { TopologyBuilder(*this).build(graph); }

void Topology::finish(std::vector<TopologyVertex> vertices) {
  const std::size_t n = vertices.size();
  std::vector<std::uint32_t> first(n + 1, 0);
  for (const int source : ends_) ++first[static_cast<std::size_t>(source) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges(ends_.size());
  std::vector<TopologyEdge> properties(ends_.size());
  for (int link = 0; link < links(); ++link) {
    const auto source = static_cast<std::size_t>(link_source(link));
    const std::uint32_t at = first[source]++;
    edges[at] = {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(link_target(link))};
    properties[at] = {link, link_bandwidth(link), link_latency_s(link)};
  }
  graph_ = Graph(boost::edges_are_sorted, edges.begin(), edges.end(), properties.begin(), static_cast<std::uint32_t>(n),
                 static_cast<std::uint32_t>(edges.size()));
  for (std::size_t i = 0; i < n; ++i) graph_[static_cast<Vertex>(i)] = vertices[i];
  if (!names_.empty()) {
    names_.resize(n);
    types_.resize(n);
  }
  find_attachments();
}

void Topology::find_attachments() {
  attachments_.resize(static_cast<std::size_t>(devices_));
  const auto each = [&](int from, const auto& visit) {
    for (const Edge& edge : boost::make_iterator_range(boost::out_edges(static_cast<Vertex>(from), graph_))) {
      visit(graph_[edge].link, static_cast<int>(boost::target(edge, graph_)));
    }
  };
  for (int device = 0; device < devices_; ++device) {
    std::vector<Attachment>& out = attachments_[static_cast<std::size_t>(device)];
    // Walks through the device's own ports or its host, never through another device or the switch of its domain.
    const std::function<void(int, std::vector<int>&)> walk = [&](int from, std::vector<int>& way) {
      each(from, [&](int link, int to) {
        const VertexKind kind = graph_[static_cast<Vertex>(to)].kind;
        const bool inside = to < first_switch_;
        const bool onward = kind == VertexKind::port || (kind == VertexKind::host && from == device);
        if (inside && !onward) return;
        way.push_back(link);
        if (inside) {
          walk(to, way);
        } else {
          out.push_back({to, way});
        }
        way.pop_back();
      });
    };
    std::vector<int> way;
    const bool described = static_cast<std::size_t>(device) < own_ports_.size();
    const std::vector<int>& ports = described ? own_ports_[static_cast<std::size_t>(device)] : way;
    for (const int port : ports) {
      way = way_to_port(device, port);
      walk(port, way);
    }
    if (ports.empty()) walk(device, way);
  }
}

std::vector<int> Topology::way_to_port(int device, int port) const {
  const auto passable = [&](int vertex) {
    const VertexKind kind = graph_[static_cast<Vertex>(vertex)].kind;
    return vertex == port || (vertex < first_switch_ && (kind == VertexKind::host || kind == VertexKind::other));
  };
  std::map<int, int> by = {{device, -1}};  // link that leads to each vertex
  std::vector<int> next = {device};
  for (std::size_t i = 0; i < next.size() && !by.contains(port); ++i) {
    for (const Edge& edge : boost::make_iterator_range(boost::out_edges(static_cast<Vertex>(next[i]), graph_))) {
      const auto to = static_cast<int>(boost::target(edge, graph_));
      if (passable(to) && by.try_emplace(to, graph_[edge].link).second) next.push_back(to);
    }
  }
  std::vector<int> out;
  for (int at = port; at != device; at = link_source(by.at(at))) out.push_back(by.at(at));
  std::reverse(out.begin(), out.end());
  return out;
}

std::span<const Attachment> Topology::attachments(int device) const {
  return attachments_[static_cast<std::size_t>(device)];
}

Route Topology::route(int from, int to) const {
  Route route;
  route.bandwidth = std::numeric_limits<double>::infinity();
  if (from == to) return route;
  // Searches from the lower device, so that both directions take the same path.
  const auto [source, target] = std::minmax({static_cast<Vertex>(from), static_cast<Vertex>(to)});
  const Part part(graph_, boost::keep_all(), {&graph_, graph_[source].domain, graph_[target].domain});
  const std::vector<Cost> cost = costs_from(source, part, graph_);

  for (Vertex at = target; at != source;) {
    const Edge step = last_step(at, cost, part, graph_);
    const TopologyEdge& edge = graph_[step];
    // The step leads backwards, from `at` to the vertex before it.
    route.links.push_back(from < to ? edge.link ^ 1 : edge.link);
    route.bandwidth = std::min(route.bandwidth, edge.bandwidth);
    route.latency_s += edge.latency_s;
    at = boost::target(step, part);
  }
  if (from < to) std::reverse(route.links.begin(), route.links.end());
  return route;
}

std::string Topology::name(int vertex) const {
  const auto at = static_cast<std::size_t>(vertex);
  if (at < names_.size() && !names_[at].empty()) return names_[at];
  const TopologyVertex& v = graph_[static_cast<Vertex>(vertex)];
  switch (v.kind) {
    case VertexKind::device:
      return fmt::format("device {}", v.index);
    case VertexKind::node_switch:
      return fmt::format("domain {} switch", v.domain);
    case VertexKind::host:
      return fmt::format("node {} host", v.group);
    case VertexKind::port:
      return fmt::format("node {} port {}", v.group, v.place);
    case VertexKind::leaf:
      return grouped("pod", v, "leaf");
    case VertexKind::spine:
      return grouped("pod", v,
                     v.level == 1   ? "spine"
                     : v.level == 2 ? "core"
                                    : fmt::format("level {} switch", v.level));
    case VertexKind::router:
      return dimensions_.empty() ? grouped("group", v, v.level == 0 ? "router" : "spine")
                                 : torus_name(v.place, dimensions_);
    case VertexKind::other:
      break;
  }
  return describe(v);
}

std::string Topology::link_name(int link) const {
  return fmt::format("{} -> {}", name(link_source(link)), name(link_target(link)));
}

std::string Topology::vertex_type(int vertex) const {
  const auto at = static_cast<std::size_t>(vertex);
  if (at < types_.size() && !types_[at].empty()) return types_[at];
  const TopologyVertex& v = graph_[static_cast<Vertex>(vertex)];
  if (v.kind == VertexKind::spine && v.level >= 2)
    return v.level == 2 ? "core" : fmt::format("level {} switch", v.level);
  if (v.kind == VertexKind::router && v.level == 1) return "group spine";
  constexpr std::array<std::string_view, 8> nouns = {"device", "node switch", "host",   "port",
                                                     "leaf",   "spine",       "router", "other"};
  return std::string(nouns[static_cast<std::size_t>(v.kind)]);
}

const std::string& Topology::link_type(int link) const {
  return link_types_[static_cast<std::size_t>(rates_[static_cast<std::size_t>(link / 2)].type)];
}

std::string describe(const TopologyVertex& vertex) {
  constexpr std::array<std::string_view, 8> nouns = {"device",      "node switch", "host",   "port",
                                                     "leaf switch", "spine",       "router", "vertex"};
  return fmt::format("{} {}", nouns[static_cast<std::size_t>(vertex.kind)], vertex.index);
}

}  // namespace mirfak
