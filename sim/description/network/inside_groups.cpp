// Rates that groups of a node's GPUs get on the node's links (network/node_inside.hpp).
#include "network/node_inside.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mirfak {

namespace {

std::size_t place(int gpu) { return static_cast<std::size_t>(gpu); }

// Search for as many Hamiltonian cycles as possible in a multigraph, one after another. The cycles found always exist.
// No further cycle exists for certain only where as many are found as the vertex with the fewest links allows.
class CyclePacking {
 public:
  CyclePacking(std::vector<int> left, int vertices) : left_(std::move(left)), n_(vertices) {
    most_ = std::numeric_limits<int>::max();
    for (int v = 0; v < n_; ++v) {
      int links = 0;
      for (int w = 0; w < n_; ++w) links += at(v, w);
      most_ = std::min(most_, links / 2);
    }
  }

  int count() {
    way_ = {0};
    on_way_.assign(place(n_), false);
    on_way_[0] = true;
    extend(0);
    return best_;
  }

 private:
  static constexpr int kSteps = 200'000;

  int& at(int a, int b) { return left_[place(a) * place(n_) + place(b)]; }
  void take(int a, int b, int change) {
    at(a, b) += change;
    at(b, a) += change;
  }

  // Extends the current cycle. Returns true if enough cycles were found or the steps are used up.
  bool extend(int taken) {
    if (++steps_ > kSteps) return true;
    const int here = way_.back();
    if (static_cast<int>(way_.size()) == n_) {
      if (at(here, 0) == 0) return false;
      take(here, 0, -1);
      best_ = std::max(best_, taken + 1);
      const std::vector<int> way = std::move(way_);
      way_ = {0};
      on_way_.assign(place(n_), false);
      on_way_[0] = true;
      if (best_ == most_ || extend(taken + 1)) return true;
      way_ = way;
      on_way_.assign(place(n_), true);
      take(here, 0, 1);
      return false;
    }
    for (const int next : by_links(here)) {
      take(here, next, -1);
      way_.push_back(next);
      on_way_[place(next)] = true;
      if (extend(taken)) return true;
      way_.pop_back();
      on_way_[place(next)] = false;
      take(here, next, 1);
    }
    return false;
  }

  // Returns the next vertices, those with the most remaining links first, to use these links up.
  std::vector<int> by_links(int here) {
    std::vector<int> out;
    for (int v = 0; v < n_; ++v) {
      if (!on_way_[place(v)] && at(here, v) > 0) out.push_back(v);
    }
    std::stable_sort(out.begin(), out.end(), [&](int a, int b) { return at(here, a) > at(here, b); });
    return out;
  }

  std::vector<int> left_;
  int n_;
  int most_ = 0;
  int best_ = 0;
  int steps_ = 0;
  std::vector<int> way_;
  std::vector<bool> on_way_;
};

}  // namespace

double NodeInside::rings_among(const Set& set) const {
  if (set.size() == 2) return links(set[0], set[1]);
  constexpr double kUnits = 2;  // units per link: a cycle is a ring in each direction, so a whole ring takes two links
  std::vector<int> left;
  for (const int a : set) {
    for (const int b : set) left.push_back(static_cast<int>(std::floor(kUnits * links(a, b))));
  }
  // A cycle of half links gives two rings of half a link's rate.
  return CyclePacking(std::move(left), static_cast<int>(set.size())).count();
}

// Returns the set, moved to every position at which all of it fits among the remaining GPUs; only the set itself if
// this leaves it out.
std::vector<NodeInside::Set> NodeInside::tiling(const Set& set) const {
  std::vector<Set> out;
  std::vector<bool> taken(vertex_.size(), false);
  const int from = set.front();
  for (int start = 0; start < gpus(); ++start) {
    Set moved;
    for (const int gpu : set) moved.push_back(gpu + start - from);
    const bool fits =
        moved.back() < gpus() && std::none_of(moved.begin(), moved.end(), [&](int gpu) { return taken[place(gpu)]; });
    if (!fits) continue;
    for (const int gpu : moved) taken[place(gpu)] = true;
    out.push_back(std::move(moved));
  }
  if (std::find(out.begin(), out.end(), set) == out.end()) out = {set};
  return out;
}

bool NodeInside::alike() const {
  if (!same_ports_) return false;
  if (kind_ == ScaleUpKind::not_stated || by_profile_) return true;
  if (kind_ != ScaleUpKind::switched) return gpus() == 1;
  for (int a = 0; a < gpus(); ++a) {
    if (total(a) != scale_up_rate_) return false;
    for (int b = 0; b < a; ++b) {
      if (between(a, b) != scale_up_rate_) return false;
    }
  }
  return true;
}

GroupInside NodeInside::group(std::span<const int> gpus) const {
  const Set set(gpus.begin(), gpus.end());
  return groups_.get(fmt::format("{}", fmt::join(set, ",")), [&] { return priced(tiling(set)); });
}

GroupInside NodeInside::priced(const std::vector<Set>& sets) const {
  GroupInside out;
  if (!same_ports_) out.port_share = std::numeric_limits<double>::infinity();
  for (const Set& set : sets) {
    double sum = 0;
    for (const int gpu : set) sum += port_share(gpu);
    if (!same_ports_) out.port_share = std::min(out.port_share, sum / static_cast<double>(set.size()));
  }
  if (kind_ == ScaleUpKind::not_stated || by_profile_) return out;
  if (sets.front().size() == 1 && kind_ != ScaleUpKind::switched) return out;
  out.ring = ring_of(sets);
  out.exchange = pairs_of(sets, true);
  out.send = pairs_of(sets, false);
  return out;
}

InsideWay NodeInside::ring_of(const std::vector<Set>& sets) const {
  double least = kind_ == ScaleUpKind::none ? 0 : std::numeric_limits<double>::infinity();
  for (const Set& set : sets) {
    if (kind_ == ScaleUpKind::direct) least = std::min(least, rings_among(set) * link_rate_);
    if (kind_ != ScaleUpKind::switched) continue;
    if (set.size() == 1) least = std::min(least, total(set.front()));  // rate to other GPUs of its domain
    for (const int a : set) {
      for (const int b : set) {
        if (a != b) least = std::min(least, between(a, b));
      }
    }
  }
  if (least <= 0) return ring_over_pcie(sets);
  return {false, least / scale_up_rate_, kind_ == ScaleUpKind::switched};
}

// Prices all pairs of a group, or the pairs of each GPU with the next.
InsideWay NodeInside::pairs_of(const std::vector<Set>& sets, bool all) const {
  if (kind_ == ScaleUpKind::switched) {
    const InsideWay ring = ring_of(sets);
    return ring.over_pcie ? pairs_over_pcie(sets, all) : ring;
  }
  double least = kind_ == ScaleUpKind::none ? 0 : std::numeric_limits<double>::infinity();
  for (const Set& set : sets) {
    for (std::size_t i = 0; i < set.size(); ++i) {
      for (std::size_t j = 0; j < set.size(); ++j) {
        const bool used = all ? i != j : j == (i + 1) % set.size();
        if (used) least = std::min(least, between(set[i], set[j]));
      }
    }
  }
  if (least <= 0) return pairs_over_pcie(sets, all);
  // The pieces for all other GPUs leave at once, each over the links to its receiver.
  const auto at_once = static_cast<double>(all ? sets.front().size() - 1 : 1);
  return {false, std::min(1.0, at_once * least / scale_up_rate_), false};
}

NodeInside::Set NodeInside::in_tree_order(Set set) const {
  std::vector<int> vertices;
  for (const int gpu : set) vertices.push_back(vertex_[place(gpu)]);
  const std::vector<int> sorted = tree_.in_order(vertices);
  Set out;
  for (const int vertex : sorted) {
    out.push_back(set[place(static_cast<int>(std::find(vertices.begin(), vertices.end(), vertex) - vertices.begin()))]);
  }
  return out;
}

InsideWay NodeInside::over_pcie(double rate) const { return {true, std::min(1.0, rate / pcie_rate_), true}; }

namespace {

// Returns the least rate of one crossing, if each link of a tree is crossed as often as `crossings` states.
double share_of_crossings(const PciTree& tree, const std::vector<int>& crossings) {
  double least = std::numeric_limits<double>::infinity();
  for (int link = 0; link < tree.links(); ++link) {
    const int times = crossings[place(link)];
    if (times > 0) least = std::min(least, tree.link_rate(link) / times);
  }
  return least;
}

}  // namespace

InsideWay NodeInside::ring_over_pcie(const std::vector<Set>& sets) const {
  std::vector<int> crossings(place(tree_.links()), 0);
  for (const Set& set : sets) {
    const Set ring = in_tree_order(set);
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const int from = ring[i];
      const int to = ring[(i + 1) % ring.size()];
      if (between(from, to) > 0) continue;
      for (const int link : tree_.way(vertex_[place(from)], vertex_[place(to)])) ++crossings[place(link)];
    }
  }
  return over_pcie(share_of_crossings(tree_, crossings));
}

InsideWay NodeInside::pairs_over_pcie(const std::vector<Set>& sets, bool all) const {
  std::vector<int> crossings(place(tree_.links()), 0);
  for (const Set& set : sets) {
    for (std::size_t i = 0; i < set.size(); ++i) {
      for (std::size_t j = 0; j < set.size(); ++j) {
        const bool used = all ? i != j : j == (i + 1) % set.size();
        if (!used || i == j || between(set[i], set[j]) > 0) continue;
        for (const int link : tree_.way(vertex_[place(set[i])], vertex_[place(set[j])])) ++crossings[place(link)];
      }
    }
  }
  const auto at_once = static_cast<double>(all ? sets.front().size() - 1 : 1);
  return over_pcie(at_once * share_of_crossings(tree_, crossings));
}

}  // namespace mirfak
