#include "network/network_graph.hpp"

#include <fmt/format.h>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>

#include <algorithm>

namespace mirfak {

std::vector<int> NetworkGraph::part_of_each(const std::function<bool(int)>& counts) const {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph(vertices.size());
  for (const NetworkLink& link : links) {
    if (counts(link.a) && counts(link.b)) {
      boost::add_edge(static_cast<std::size_t>(link.a), static_cast<std::size_t>(link.b), graph);
    }
  }
  std::vector<int> out(vertices.size());
  if (out.empty()) return out;
  boost::connected_components(graph,
                              boost::make_iterator_property_map(out.begin(), boost::get(boost::vertex_index, graph)));
  return out;
}

int NetworkGraph::link_type(const std::string& name) {
  const auto found = std::find(link_types.begin(), link_types.end(), name);
  if (found != link_types.end()) return static_cast<int>(found - link_types.begin());
  link_types.push_back(name);
  return static_cast<int>(link_types.size()) - 1;
}

int NetworkGraph::parts() const {
  std::vector<int> roots = part_of_each([](int) { return true; });
  std::sort(roots.begin(), roots.end());
  return static_cast<int>(std::unique(roots.begin(), roots.end()) - roots.begin());
}

void require_connected(const NetworkGraph& graph) {
  const std::vector<int> root = graph.part_of_each([](int) { return true; });
  for (int i = 1; i < graph.devices; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (root[at] == root[0]) continue;
    fail_input(graph.vertices[at].where,
               fmt::format("no links lead from {} to {}: the graph is in parts", graph.vertices[0].name,
                           graph.vertices[at].name),
               "join the parts by a link, or leave the devices of the other part out");
  }
}

}  // namespace mirfak
