#pragma once

#include "network/network_graph.hpp"

#include <utility>
#include <vector>

namespace mirfak {

// How far a network card is from a GPU, as NCCL tells (PIX, PXB, PHB, SYS), the nearest first.
enum class NicDistance { one_switch, switches, processor, other_processor };

// PCI Express of a node, with its network ports: each vertex below the one that leads to its processor. Links carry
// their rate upwards and downwards at once.
class PciTree {
 public:
  explicit PciTree(const NetworkGraph& graph);

  int root_of(int vertex) const;  // its processor
  NicDistance distance(int gpu, int net) const;
  double rate(int vertex) const { return rate_[static_cast<std::size_t>(vertex)]; }  // of the link upwards
  void set_rate(int vertex, double rate) { rate_[static_cast<std::size_t>(vertex)] = rate; }
  std::vector<int> in_order(std::vector<int> vertices) const;  // so that a ring in this order crosses a link once

  // A way as directed links: 2 v upwards from vertex v, 2 v + 1 down to it. To -1: as far as the processor.
  std::vector<int> way(int from, int to) const;
  std::vector<int> way_by_root(int from, int to) const;  // by the processor even where a switch is shorter
  double link_rate(int link) const { return rate(link / 2); }
  int links() const { return 2 * static_cast<int>(parent_.size()); }

 private:
  std::vector<int> path_up(int vertex) const;  // from it to its processor, both included

  std::vector<int> parent_;  // -1: none
  std::vector<double> rate_;
  std::vector<int> place_;     // in a walk of the tree
  std::vector<bool> is_port_;  // of a network card
};

// A flow over links, and what part of it crosses each.
struct TreeFlow {
  std::vector<std::pair<int, double>> links;
};
// Max-min fair rates; infinite for a flow whose links all are. The solver of the engine is below this room.
std::vector<double> fair_rates(const std::vector<TreeFlow>& flows, const std::vector<double>& capacity);

}  // namespace mirfak
