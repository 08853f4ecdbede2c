#pragma once

#include "base/remembered.hpp"
#include "network/nccl_xml.hpp"
#include "network/pci_tree.hpp"

#include <compare>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// How the GPUs of a node reach each other, in one kind of communication of one group.
struct InsideWay {
  bool over_pcie = false;  // over PCI Express (NodeHardware::peers), not over the scale-up links
  double share = 1;        // of the line rate of a GPU's links
  bool by_ranks = true;    // times what the link's profile says of groups of so many ranks, whose wiring it knows

  friend auto operator<=>(const InsideWay&, const InsideWay&) = default;
};

// What is special about where the ranks of a group are inside their nodes. As it is by default: nothing.
struct GroupInside {
  InsideWay ring;
  InsideWay exchange;     // all-to-all
  InsideWay send;         // from each to the next
  double port_share = 0;  // bytes/s of the node's ports, of one rank of the group on average; 0: as of any device

  friend auto operator<=>(const GroupInside&, const GroupInside&) = default;
};
GroupInside slower_of(const GroupInside& a, const GroupInside& b);

// What joins the GPUs of a node beside PCI Express.
enum class ScaleUpKind {
  not_stated,  // GPUs without a <gpu>: the file leaves it to NCCL, the node type says it
  none,
  switched,
  direct,
};

// The inside of a node, as a topology file of NCCL describes it: which links its GPUs have and what a group of them
// makes of these. GPUs are numbered in NCCL's order: by rank where all GPUs state one, else by dev, else by busid.
//
// A group stands for all that tile its node, moved by as many GPUs each: ranks in lockstep use their links at the same
// time, and the slowest decides. Groups are priced so:
//   over switches       the least that any two have towards a common switch
//   over direct links   rings: as many Hamiltonian cycles as fit on the links among the group, each link once in half
//                       units (NCCL's search for channels, src/graph/search.cc); exchanges and sends: the narrowest
//                       pair
//   over PCI Express    where some have no such ring or no link of their own: the ring in the order of the tree, all
//                       groups at once; links of the tree that several cross are shared
// A GPU sends over the network cards nearest to it (through one PCI switch, through several, through its processor,
// through another), cards of equal distance dealt out in turn; the shares of a card and of what is on the way are
// max-min fair. Cards that are nearest to no GPU are not used, as NCCL does not.
class NodeInside {
 public:
  // What the file may leave out, from the node type: bytes/s of a GPU's PCI Express and of a network port.
  struct Unstated {
    double pcie = 0;
    double port = 0;
  };
  // `gpus` of those in the file, in NCCL's order, are used.
  NodeInside(NcclTopology topology, int gpus, Unstated unstated);

  const NcclTopology& file() const { return file_; }
  int gpus() const { return static_cast<int>(vertex_.size()); }
  std::span<const int> vertices() const { return vertex_; }  // of the GPUs, in the file's graph
  ScaleUpKind kind() const { return kind_; }
  // Line rates of the widest GPU, bytes/s each way.
  double scale_up_rate() const { return scale_up_rate_; }
  double pcie_rate() const { return pcie_rate_; }  // of its slot; what is behind it, groups meet
  double host_rate() const { return host_rate_; }  // to its processor where all copy at once, of the slowest GPU
  double total(int gpu) const { return total_[static_cast<std::size_t>(gpu)]; }  // of one GPU's scale-up links
  double links(int a, int b) const { return count_[index(a, b)]; }               // between two, direct ones
  double between(int a, int b) const;                                            // bytes/s between two

  // Network cards that GPUs use, as places in NcclTopology::nets, by what joins them: cards of one entry serve the same
  // GPUs.
  struct Port {
    std::vector<int> nets;
    std::vector<int> gpus;
    double bandwidth = 0;  // of all cards, bytes/s
  };
  std::span<const Port> ports() const { return ports_; }
  int port_of(int gpu) const;  // one that it sends over, the first; -1: it has none
  int used_nets() const;
  double port_share(int gpu) const { return port_share_[static_cast<std::size_t>(gpu)]; }
  std::vector<std::string> unused_nets() const;

  // The direct links are those that the link's profile was made of, so that it knows of small groups.
  void keep_profile() { by_profile_ = true; }
  bool by_profile() const { return by_profile_; }

  // Every group is as by default: nothing tells GPUs apart.
  bool alike() const;
  // Of GPUs of one node, ascending, each once.
  GroupInside group(std::span<const int> gpus) const;
  bool needs_pcie() const;  // whether some two GPUs have no scale-up link between them

 private:
  using Set = std::vector<int>;

  std::size_t index(int a, int b) const {
    return static_cast<std::size_t>(a) * vertex_.size() + static_cast<std::size_t>(b);
  }
  void put_in_order(int gpus);
  void read_links();
  void deal_nets(double unstated_port);
  void share_nets();
  void share_host();
  GroupInside priced(const std::vector<Set>& sets) const;
  InsideWay ring_of(const std::vector<Set>& sets) const;
  InsideWay pairs_of(const std::vector<Set>& sets, bool all) const;
  InsideWay ring_over_pcie(const std::vector<Set>& sets) const;
  InsideWay pairs_over_pcie(const std::vector<Set>& sets, bool all) const;
  InsideWay over_pcie(double rate) const;
  Set in_tree_order(Set set) const;
  double rings_among(const Set& set) const;  // in links
  std::vector<Set> tiling(const Set& set) const;

  NcclTopology file_;
  std::vector<int> vertex_;
  PciTree tree_;
  ScaleUpKind kind_ = ScaleUpKind::none;
  std::vector<double> count_;                   // of direct links, a by b
  std::vector<std::vector<double>> to_switch_;  // bytes/s of each GPU to each switch
  std::vector<double> total_;                   // with links to GPUs that are not used
  std::vector<double> to_host_;                 // bytes/s past PCI Express (C2C); 0: none
  double link_rate_ = 0;                        // of one direct link
  double scale_up_rate_ = 0;
  double pcie_rate_ = 0;
  double host_rate_ = 0;
  std::vector<std::vector<int>> nets_of_;  // of each GPU
  std::vector<Port> ports_;
  std::vector<double> port_share_;
  bool same_ports_ = true;
  bool by_profile_ = false;
  mutable Remembered<GroupInside> groups_;
};

}  // namespace mirfak
