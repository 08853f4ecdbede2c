#include "base/coloured_graph.hpp"

#include "base/cancellation.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mirfak {

ColouredGraph::Vertex ColouredGraph::add(Key key) {
  const auto [known, is_new] = of_key_.try_emplace(key, static_cast<std::uint32_t>(members_.size()));
  if (is_new) members_.push_back(0);
  ++members_[known->second];
  colour_.push_back(known->second);
  return static_cast<Vertex>(colour_.size() - 1);
}

void ColouredGraph::divide() {
  list_neighbours();
  std::vector<Vertex> changed(colour_.size());
  std::iota(changed.begin(), changed.end(), Vertex{0});
  for (const Vertex vertex : changed) {
    for (const Neighbour& of : neighbours(vertex)) around_[of.vertex] += mixed(colour_[vertex], of.label);
  }
  while (!changed.empty()) {  // ends: a round adds a colour or changes nothing; at most one colour for each vertex
    check_cancelled();
    changed = affected_by(recoloured(changed));
  }
}

void ColouredGraph::list_neighbours() {
  first_.assign(colour_.size() + 1, 0);
  around_.assign(colour_.size(), 0);
  for (const Edge& edge : edges_) ++first_[edge.a + 1], ++first_[edge.b + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  neighbours_.resize(2 * edges_.size());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (const Edge& edge : edges_) {
    neighbours_[next[edge.a]++] = {edge.b, edge.seen_from_b};
    neighbours_[next[edge.b]++] = {edge.a, edge.seen_from_a};
  }
}

// Divides the colours of vertices whose neighbourhoods have changed. All other vertices of a colour have equal
// neighbourhoods.
std::vector<ColouredGraph::Recoloured> ColouredGraph::recoloured(std::vector<Vertex>& changed) {
  const auto key = [&](Vertex vertex) { return std::pair(colour_[vertex], around_[vertex]); };
  std::sort(changed.begin(), changed.end(), [&](Vertex a, Vertex b) { return key(a) < key(b); });
  std::vector<Recoloured> out;
  for (auto begin = changed.begin(); begin != changed.end();) {
    const std::uint32_t colour = colour_[*begin];
    const auto end = std::find_if(begin, changed.end(), [&](Vertex vertex) { return colour_[vertex] != colour; });
    divide_colour({begin, end}, out);
    begin = end;
  }
  return out;
}

void ColouredGraph::divide_colour(std::span<const Vertex> changed, std::vector<Recoloured>& out) {
  const std::uint32_t colour = colour_[changed.front()];
  std::vector<std::span<const Vertex>> parts;
  for (std::size_t begin = 0; begin < changed.size();) {
    std::size_t end = begin;
    while (end < changed.size() && around_[changed[end]] == around_[changed[begin]]) ++end;
    parts.push_back(changed.subspan(begin, end - begin));
    begin = end;
  }
  if (changed.size() == members_[colour]) {
    const auto size = [](std::span<const Vertex> a, std::span<const Vertex> b) { return a.size() < b.size(); };
    parts.erase(std::max_element(parts.begin(), parts.end(), size));
  }
  for (const std::span<const Vertex> part : parts) {
    const auto fresh = static_cast<std::uint32_t>(members_.size());
    members_.push_back(static_cast<std::uint32_t>(part.size()));
    members_[colour] -= static_cast<std::uint32_t>(part.size());
    for (const Vertex vertex : part) {
      out.push_back({vertex, colour});
      colour_[vertex] = fresh;
    }
  }
}

std::vector<ColouredGraph::Vertex> ColouredGraph::affected_by(const std::vector<Recoloured>& recoloured) {
  std::vector<Vertex> out;
  for (const Recoloured& each : recoloured) {
    for (const Neighbour& of : neighbours(each.vertex)) {
      around_[of.vertex] += mixed(colour_[each.vertex], of.label) - mixed(each.before, of.label);
      out.push_back(of.vertex);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace mirfak
