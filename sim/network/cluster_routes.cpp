#include "network/cluster_routes.hpp"

#include <boost/range/iterator_range.hpp>

#include <optional>
#include <utility>

namespace mirfak {

namespace {

using Graph = Topology::Graph;
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;

bool is_switch(const TopologyVertex& vertex) { return vertex.kind == VertexKind::leaf || vertex.kind == VertexKind::spine; }

std::vector<Vertex> neighbours(const Graph& graph, Vertex of, VertexKind kind) {
  std::vector<Vertex> out;
  for (const Vertex next : boost::make_iterator_range(boost::adjacent_vertices(of, graph))) {
    if (graph[next].kind == kind) out.push_back(next);
  }
  return out;
}

// The port that a device's messages leave by; its node's processors share them out among the devices.
std::optional<Vertex> port_of(const Cluster& cluster, const Graph& graph, int device) {
  const auto own = neighbours(graph, static_cast<Vertex>(device), VertexKind::port);
  if (!own.empty()) return own.front();
  const auto hosts = neighbours(graph, static_cast<Vertex>(device), VertexKind::host);
  if (hosts.empty()) return std::nullopt;
  const auto ports = neighbours(graph, hosts.front(), VertexKind::port);
  if (ports.empty()) return std::nullopt;
  const auto local = static_cast<std::size_t>(cluster.place_of(device).local);
  const auto devices = static_cast<std::size_t>(cluster.group_of(device).hardware.spec.gpus);
  return ports[local * ports.size() / devices];
}

// Whether links between switches carry less than the ports below them, or messages meet on some while others idle.
bool may_be_short(const Fabric& fabric) { return fabric.oversubscription > 1; }

}  // namespace

FabricGraph fabric_graph(const Cluster& cluster, const Topology& topology) {
  const Graph& graph = topology.graph();
  FabricGraph out;
  std::vector<std::uint32_t> number(boost::num_vertices(graph), 0);
  for (const Vertex vertex : boost::make_iterator_range(boost::vertices(graph))) {
    if (!is_switch(graph[vertex])) continue;
    number[vertex] = static_cast<std::uint32_t>(out.switches.size());
    out.switches.push_back(describe(graph[vertex]));
  }
  for (const auto& edge : boost::make_iterator_range(boost::edges(graph))) {
    const Vertex a = boost::source(edge, graph);
    const Vertex b = boost::target(edge, graph);
    if (!is_switch(graph[a]) || !is_switch(graph[b])) continue;
    out.links.push_back({number[a], number[b], graph[edge].bandwidth});
    out.links.push_back({number[b], number[a], graph[edge].bandwidth});
  }
  out.sort_links();
  const bool rails = cluster.fabric().type == FabricType::rail_optimized;
  for (int device = 0; device < cluster.gpus(); ++device) {
    const std::optional<Vertex> port = port_of(cluster, graph, device);
    const auto leaves = port ? neighbours(graph, *port, VertexKind::leaf) : std::vector<Vertex>{};
    out.attached.push_back(leaves.empty() ? -1 : static_cast<std::int32_t>(number[leaves.front()]));
    if (rails) out.hands_on.push_back(device - cluster.place_of(device).local);
  }
  return out;
}

Routes* routes_of(const Cluster& cluster) {
  if (!may_be_short(cluster.fabric())) return nullptr;
  struct Last {
    Cluster cluster;
    Routes routes;
  };
  thread_local std::optional<Last> last;
  if (!last || !last->cluster.is(cluster)) {
    last.emplace(Last{cluster, Routes(fabric_graph(cluster, Topology(cluster)), Routing::spread)});
  }
  return &last->routes;
}

}  // namespace mirfak
