#include "network/pci_tree.hpp"

#include <algorithm>
#include <functional>

namespace mirfak {

namespace {

std::size_t at_vertex(int vertex) { return static_cast<std::size_t>(vertex); }

}  // namespace

PciTree::PciTree(const NetworkGraph& graph)
    : parent_(graph.vertices.size(), -1),
      rate_(graph.vertices.size(), kNotStated),
      place_(graph.vertices.size(), 0),
      is_port_(graph.vertices.size(), false) {
  std::vector<std::vector<int>> below(parent_.size());
  for (const NetworkLink& link : graph.links) {
    const std::string& type = graph.link_types[at_vertex(link.type)];
    if (type != "pcie" && type != "net") continue;
    parent_[at_vertex(link.b)] = link.a;
    rate_[at_vertex(link.b)] = link.bandwidth;
    is_port_[at_vertex(link.b)] = type == "net";
    below[at_vertex(link.a)].push_back(link.b);
  }
  int next = 0;
  const std::function<void(int)> walk = [&](int vertex) {
    place_[at_vertex(vertex)] = next++;
    for (const int child : below[at_vertex(vertex)]) walk(child);
  };
  for (int vertex = 0; vertex < static_cast<int>(parent_.size()); ++vertex) {
    if (parent_[at_vertex(vertex)] < 0) walk(vertex);
  }
}

std::vector<int> PciTree::path_up(int vertex) const {
  std::vector<int> out = {vertex};
  while (parent_[at_vertex(out.back())] >= 0) out.push_back(parent_[at_vertex(out.back())]);
  return out;
}

int PciTree::root_of(int vertex) const { return path_up(vertex).back(); }

std::vector<int> PciTree::way(int from, int to) const {
  std::vector<int> up = path_up(from);
  std::vector<int> down = to < 0 ? std::vector<int>{up.back()} : path_up(to);
  // Drops the common part of both paths, above the vertex where they meet.
  while (up.size() > 1 && down.size() > 1 && up[up.size() - 2] == down[down.size() - 2]) {
    up.pop_back();
    down.pop_back();
  }
  std::vector<int> out;
  for (std::size_t i = 0; i + 1 < up.size(); ++i) out.push_back(2 * up[i]);
  for (std::size_t i = down.size() - 1; i-- > 0;) out.push_back(2 * down[i] + 1);
  return out;
}

std::vector<int> PciTree::way_by_root(int from, int to) const {
  std::vector<int> out = way(from, -1);
  const std::vector<int> down = path_up(to);
  for (std::size_t i = down.size() - 1; i-- > 0;) out.push_back(2 * down[i] + 1);
  return out;
}

NicDistance PciTree::distance(int gpu, int net) const {
  if (root_of(gpu) != root_of(net)) return NicDistance::other_processor;
  const std::vector<int> own = path_up(gpu);
  const std::vector<int> others = path_up(net);
  const auto meets = std::find_first_of(own.begin(), own.end(), others.begin(), others.end());
  if (parent_[at_vertex(*meets)] < 0) return NicDistance::processor;
  const auto above_gpu = meets - own.begin();
  auto above_net = std::find(others.begin(), others.end(), *meets) - others.begin();
  if (is_port_[at_vertex(net)]) --above_net;  // a port is inside its card, which is no switch
  return above_gpu + above_net <= 2 ? NicDistance::one_switch : NicDistance::switches;
}

std::vector<int> PciTree::in_order(std::vector<int> vertices) const {
  std::sort(vertices.begin(), vertices.end(),
            [&](int a, int b) { return place_[at_vertex(a)] < place_[at_vertex(b)]; });
  return vertices;
}

std::vector<double> fair_rates(const std::vector<TreeFlow>& flows, const std::vector<double>& capacity) {
  std::vector<double> left = capacity;
  std::vector<double> rates(flows.size(), 0);
  std::vector<bool> fixed(flows.size(), false);
  for (std::size_t open = flows.size(); open > 0;) {
    std::vector<double> load(capacity.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (fixed[f]) continue;
      for (const auto& [link, part] : flows[f].links) load[at_vertex(link)] += part;
    }
    double rise = kNotStated;
    for (std::size_t link = 0; link < load.size(); ++link) {
      if (capacity[link] == kNotStated) load[link] = 0;
      if (load[link] > 0) rise = std::min(rise, std::max(0.0, left[link]) / load[link]);
    }
    for (std::size_t link = 0; link < load.size(); ++link) {
      if (load[link] > 0) left[link] -= rise * load[link];
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (fixed[f]) continue;
      rates[f] += rise;
      const bool full = std::any_of(flows[f].links.begin(), flows[f].links.end(), [&](const auto& on) {
        return load[at_vertex(on.first)] > 0 && left[at_vertex(on.first)] <= 1e-9 * capacity[at_vertex(on.first)];
      });
      if (!full && rise < kNotStated) continue;
      fixed[f] = true;
      --open;
    }
  }
  return rates;
}

}  // namespace mirfak
