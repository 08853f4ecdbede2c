#include "network/cluster_routes.hpp"

#include "network/symmetry.hpp"

#include <boost/range/iterator_range.hpp>

#include <optional>
#include <utility>

namespace mirfak {

FabricGraph fabric_graph(const Cluster& cluster, const Topology& topology) {
  FabricGraph out;
  const int first = topology.first_switch();
  for (int vertex = first; vertex < topology.vertices(); ++vertex) out.switches.push_back(topology.name(vertex));
  for (int link = 0; link < topology.links(); ++link) {
    const int from = topology.link_source(link);
    const int to = topology.link_target(link);
    if (from < first || to < first) continue;
    out.links.push_back({static_cast<std::uint32_t>(from - first), static_cast<std::uint32_t>(to - first),
                         topology.link_bandwidth(link)});
  }
  out.sort_links();
  const FabricType type = cluster.fabric().type;
  const bool rails = type == FabricType::rail_optimized || type == FabricType::rail_only;
  for (int device = 0; device < cluster.gpus(); ++device) {
    const auto ways = topology.attachments(device);
    out.attached.push_back(ways.empty() ? -1 : ways.front().entry - first);
    if (rails) out.hands_on.push_back(device - cluster.place_of(device).local);
  }
  return out;
}

std::vector<std::uint32_t> switch_colours(const FabricGraph& graph, const Topology& topology) {
  const auto first = static_cast<std::size_t>(topology.first_switch());
  std::vector<int> marks(static_cast<std::size_t>(topology.vertices()), 0);
  for (const std::int32_t at : graph.attached) {
    if (at >= 0) marks[first + static_cast<std::size_t>(at)] = at + 1;
  }
  const std::vector<int> alike = alike_vertices(topology, marks);
  std::vector<std::uint32_t> colours(graph.switches.size());
  std::vector<std::int32_t> number(marks.size(), -1);
  std::int32_t count = 0;
  for (std::size_t at = 0; at < colours.size(); ++at) {
    std::int32_t& own = number[static_cast<std::size_t>(alike[first + at])];
    if (own < 0) own = count++;
    colours[at] = static_cast<std::uint32_t>(own);
  }
  return colours;
}

bool may_be_short(const Fabric& fabric) {
  switch (fabric.type) {
    case FabricType::full_bisection:
      return false;
    case FabricType::rail_optimized:
    case FabricType::rail_only:
    case FabricType::fat_tree:
      return fabric.oversubscription > 1 || fabric.routing == Routing::hashed;  // all levels together
    default:
      return true;
  }
}

namespace {

// Builds the routes of a fabric. Hashed routes do not merge switches, because each link carries messages of its own.
Routes routes_over(const Fabric& fabric, FabricGraph graph, const Topology& topology) {
  if (fabric.routing == Routing::hashed) return Routes::hashed(std::move(graph), fabric.routing_seed);
  std::vector<std::uint32_t> colours = switch_colours(graph, topology);
  return Routes::spread(std::move(graph), std::move(colours));
}

}  // namespace

Routes* routes_of(const Cluster& cluster) { return may_be_short(cluster.fabric()) ? all_routes_of(cluster) : nullptr; }

Routes* all_routes_of(const Cluster& cluster) {
  struct Last {
    Cluster cluster;
    Routes routes;
  };
  thread_local std::optional<Last> last;
  if (!last || !last->cluster.is(cluster)) {
    const Topology topology(cluster);
    FabricGraph graph = fabric_graph(cluster, topology);
    last.emplace(Last{cluster, routes_over(cluster.fabric(), std::move(graph), topology)});
  }
  return &last->routes;
}

std::string FabricKinds::of(const RoutedLink& link) const {
  const int from = topology_.first_switch() + static_cast<int>(link.from);
  const int to = topology_.first_switch() + static_cast<int>(link.to);
  const std::string from_type = topology_.vertex_type(from);
  const std::string to_type = topology_.vertex_type(to);
  if (from_type != to_type) return from_type + " to " + to_type;
  // Link type of the first neighbor of this kind, unless a link leads to `to` itself.
  const Topology::Graph& graph = topology_.graph();
  std::string type;
  for (const auto& edge : boost::make_iterator_range(boost::out_edges(static_cast<std::uint32_t>(from), graph))) {
    const int other = static_cast<int>(boost::target(edge, graph));
    if (other < topology_.first_switch() || topology_.vertex_type(other) != to_type) continue;
    if (type.empty() || other == to) type = topology_.link_type(graph[edge].link);
  }
  return type;
}

}  // namespace mirfak
