#include "network/symmetry.hpp"

#include "base/coloured_graph.hpp"
#include "base/random.hpp"

#include <bit>
#include <cstdint>
#include <map>

namespace mirfak {

namespace {

ColouredGraph::Key key_of(const TopologyVertex& vertex, int mark) {
  const auto key = [](int value) { return static_cast<ColouredGraph::Key>(value); };
  return mixed(mixed(key(static_cast<int>(vertex.kind)), key(vertex.level)), key(mark));
}

}  // namespace

std::vector<int> alike_vertices(const Topology& topology, std::span<const int> marks) {
  enum : ColouredGraph::Key { kOut, kIn };
  const auto n = static_cast<std::size_t>(topology.vertices());
  ColouredGraph graph;
  for (std::size_t v = 0; v < n; ++v) {
    graph.add(key_of(topology.graph()[static_cast<std::uint32_t>(v)], marks.empty() ? 0 : marks[v]));
  }
  for (int link = 0; link < topology.links(); ++link) {
    const auto from = static_cast<ColouredGraph::Vertex>(topology.link_source(link));
    const auto to = static_cast<ColouredGraph::Vertex>(topology.link_target(link));
    const auto rate = std::bit_cast<ColouredGraph::Key>(topology.link_bandwidth(link));
    graph.join(from, to, mixed(kOut, rate), mixed(kIn, rate));
  }
  graph.divide();
  std::vector<int> classes(n);
  std::map<std::uint32_t, int> numbers;
  for (std::size_t v = 0; v < n; ++v) {
    const std::uint32_t colour = graph.colour(static_cast<ColouredGraph::Vertex>(v));
    classes[v] = numbers.try_emplace(colour, static_cast<int>(numbers.size())).first->second;
  }
  return classes;
}

}  // namespace mirfak
