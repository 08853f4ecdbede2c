#include "base/coloured_graph.hpp"

#include "base/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

using mirfak::ColouredGraph;

namespace {

// An edge with its labels seen from `a` and from `b`.
struct Edge {
  ColouredGraph::Vertex a = 0;
  ColouredGraph::Vertex b = 0;
  ColouredGraph::Key from_a = 0;
  ColouredGraph::Key from_b = 0;
};

std::vector<std::uint32_t> coloured(const std::vector<ColouredGraph::Key>& keys, const std::vector<Edge>& edges) {
  ColouredGraph graph;
  for (const ColouredGraph::Key key : keys) graph.add(key);
  for (const Edge& edge : edges) graph.join(edge.a, edge.b, edge.from_a, edge.from_b);
  graph.divide();
  std::vector<std::uint32_t> out;
  for (std::size_t v = 0; v < keys.size(); ++v) out.push_back(graph.colour(static_cast<ColouredGraph::Vertex>(v)));
  return out;
}

// Divides all colours by their neighbourhoods, round by round, until a round divides none.
std::vector<std::uint32_t> naively_coloured(const std::vector<ColouredGraph::Key>& keys,
                                            const std::vector<Edge>& edges) {
  using Around = std::multiset<std::pair<std::uint32_t, ColouredGraph::Key>>;
  std::map<ColouredGraph::Key, std::uint32_t> of_key;
  std::vector<std::uint32_t> out;
  for (const ColouredGraph::Key key : keys) {
    out.push_back(of_key.try_emplace(key, static_cast<std::uint32_t>(of_key.size())).first->second);
  }
  for (std::size_t before = of_key.size();;) {
    std::vector<Around> around(keys.size());
    for (const Edge& edge : edges) {
      around[edge.a].emplace(out[edge.b], edge.from_a);
      around[edge.b].emplace(out[edge.a], edge.from_b);
    }
    std::map<std::pair<std::uint32_t, Around>, std::uint32_t> numbers;
    for (std::size_t v = 0; v < keys.size(); ++v) {
      out[v] = numbers.try_emplace({out[v], around[v]}, static_cast<std::uint32_t>(numbers.size())).first->second;
    }
    if (numbers.size() == before) return out;
    before = numbers.size();
  }
}

// Numbers colours by their lowest vertex.
std::vector<std::uint32_t> in_order(const std::vector<std::uint32_t>& colours) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> out;
  for (const std::uint32_t colour : colours) {
    out.push_back(numbers.try_emplace(colour, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  return out;
}

}  // namespace

TEST_CASE("vertices that look alike share a colour, others do not") {
  const std::vector<ColouredGraph::Key> alike(5, 0);
  const auto path = [](ColouredGraph::Key label) {
    return std::vector<Edge>{{0, 1, label, label}, {1, 2, 0, 0}, {2, 3, 0, 0}, {3, 4, 0, 0}};
  };
  CHECK(in_order(coloured(alike, {})) == std::vector<std::uint32_t>{0, 0, 0, 0, 0});
  CHECK(in_order(coloured(alike, path(0))) == std::vector<std::uint32_t>{0, 1, 2, 1, 0});
  CHECK(in_order(coloured(alike, path(1))) == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  CHECK(in_order(coloured({0, 0, 0, 0, 7}, path(0))) == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
  // A ring whose edges have a direction is one colour; with one edge turned round it is none.
  std::vector<Edge> ring;
  for (ColouredGraph::Vertex v = 0; v < 5; ++v) ring.push_back({v, (v + 1) % 5, 1, 2});
  CHECK(in_order(coloured(alike, ring)) == std::vector<std::uint32_t>{0, 0, 0, 0, 0});
  std::swap(ring[4].from_a, ring[4].from_b);
  CHECK(in_order(coloured(alike, ring)) == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
}

TEST_CASE("the colours of drawn graphs are those of rounds over all vertices") {
  for (std::uint32_t sample = 0; sample < 300; ++sample) {
    CAPTURE(sample);
    std::uint64_t entity = 0;
    const auto below = [&](std::uint64_t bound) {
      return static_cast<std::uint32_t>(mirfak::uniform({35, sample, 0, entity++}) * static_cast<double>(bound));
    };
    const std::uint32_t vertices = 2 + below(12);
    const std::uint32_t labels = 1 + below(3);
    std::vector<ColouredGraph::Key> keys(vertices);
    for (ColouredGraph::Key& key : keys) key = below(8) == 0 ? 1 : 0;
    std::vector<Edge> edges(below(2 * vertices));
    for (Edge& edge : edges) edge = {below(vertices), below(vertices), below(labels), below(labels)};
    CHECK(in_order(coloured(keys, edges)) == in_order(naively_coloured(keys, edges)));
  }
}
