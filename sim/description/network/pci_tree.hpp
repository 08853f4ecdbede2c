#pragma once

#include "network/network_graph.hpp"

#include <utility>
#include <vector>

namespace mirfak {

// Distance of a network card from a GPU, as in NCCL (PIX, PXB, PHB, SYS), the nearest first.
enum class NicDistance { one_switch, switches, processor, other_processor };

// PCI Express tree of a node, with its network ports: each vertex is a child of the vertex that leads to its processor.
// A link carries its full rate upwards and downwards at once.
class PciTree {
 public:
  explicit PciTree(const NetworkGraph& graph);

  int root_of(int vertex) const;  // processor of the vertex
  NicDistance distance(int gpu, int net) const;
  double rate(int vertex) const { return rate_[static_cast<std::size_t>(vertex)]; }  // rate of the link upwards
  void set_rate(int vertex, double rate) { rate_[static_cast<std::size_t>(vertex)] = rate; }
  std::vector<int> in_order(std::vector<int> vertices) const;  // a ring in this order crosses each link once

  // Returns a path as directed links: 2 v upwards from vertex v, 2 v + 1 down to vertex v. If `to` is -1, the path ends
  // at the processor.
  std::vector<int> way(int from, int to) const;
  std::vector<int> way_by_root(int from, int to) const;  // through the processor even if a switch is nearer
  double link_rate(int link) const { return rate(link / 2); }
  int links() const { return 2 * static_cast<int>(parent_.size()); }

 private:
  std::vector<int> path_up(int vertex) const;  // vertices from this vertex to its processor, both included

  std::vector<int> parent_;  // -1: none
  std::vector<double> rate_;
  std::vector<int> place_;     // position in a walk of the tree
  std::vector<bool> is_port_;  // true for ports of network cards
};

// Flow over links, with the part of the flow that crosses each link.
struct TreeFlow {
  std::vector<std::pair<int, double>> links;
};
// Returns the max-min fair rate of each flow; infinite for a flow whose links all have infinite capacity. The solver of
// the engine belongs to a later layer and cannot be used here.
std::vector<double> fair_rates(const std::vector<TreeFlow>& flows, const std::vector<double>& capacity);

}  // namespace mirfak
