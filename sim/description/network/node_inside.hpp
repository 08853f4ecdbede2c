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

// Path by which the GPUs of a group inside a node reach each other, for one kind of communication.
struct InsideWay {
  bool over_pcie = false;  // true: over PCI Express (NodeHardware::peers); false: over the scale-up links
  double share = 1;        // share of the line rate of a GPU's links
  bool by_ranks = true;    // true: efficiency_for(ranks) of the link's profile, which reflects wiring, applies too

  friend auto operator<=>(const InsideWay&, const InsideWay&) = default;
};

// Deviations from the default for the communication of a group inside its nodes. The default value is no deviation.
struct GroupInside {
  InsideWay ring;
  InsideWay exchange;     // all-to-all
  InsideWay send;         // from each rank to the next
  double port_share = 0;  // bytes/s of the node's ports per rank of the group, on average; 0: as for any device

  friend auto operator<=>(const GroupInside&, const GroupInside&) = default;
};
GroupInside slower_of(const GroupInside& a, const GroupInside& b);

// Connection of the GPUs of a node other than PCI Express.
enum class ScaleUpKind {
  not_stated,  // GPUs without a <gpu>: the file leaves the links to NCCL, the node type states them
  none,
  switched,
  direct,
};

// Inside of a node, as a topology file of NCCL describes it: the links of its GPUs, and the rates that groups of GPUs
// get on these links. GPUs are numbered in NCCL's order: by rank if all GPUs state one, else by dev, else by busid.
//
// A group stands for all groups of the same shape that tile its node (the group shifted by a number of GPUs): ranks in
// lockstep use their links at the same time, and the slowest group decides. Groups are priced as follows:
//   over switches       the least rate that any two GPUs have to a common switch
//   over direct links   rings: as many Hamiltonian cycles as fit on the links among the group, each link once in half
//                       units (NCCL's search for channels, src/graph/search.cc); exchanges and sends: the narrowest
//                       pair
//   over PCI Express    if some groups have no such ring or some pairs no link of their own: the ring in the order of
//                       the tree, all groups at once; a link of the tree is shared by all that cross it
// A GPU sends over the network cards nearest to it (through one PCI switch, through several, through its processor,
// through another processor). Cards of equal distance are dealt out in turn, and the rates of a card and of the links
// to it are shared max-min fairly. Cards that are nearest to no GPU are not used, as in NCCL.
class NodeInside {
 public:
  // Rates from the node type for figures that the file may leave out: bytes/s of a GPU's PCI Express and of a network
  // port.
  struct Unstated {
    double pcie = 0;
    double port = 0;
  };
  // Uses the first `gpus` GPUs of the file, in NCCL's order.
  NodeInside(NcclTopology topology, int gpus, Unstated unstated);

  const NcclTopology& file() const { return file_; }
  int gpus() const { return static_cast<int>(vertex_.size()); }
  std::span<const int> vertices() const { return vertex_; }  // vertices of the GPUs in the file's graph
  ScaleUpKind kind() const { return kind_; }
  // Line rates of the GPU with the highest rate, in bytes/s each way.
  double scale_up_rate() const { return scale_up_rate_; }
  double pcie_rate() const { return pcie_rate_; }  // rate of the PCIe slot; groups share the links behind it
  double host_rate() const { return host_rate_; }  // rate of the slowest GPU to its processor if all GPUs copy at once
  double total(int gpu) const { return total_[static_cast<std::size_t>(gpu)]; }  // sum over one GPU's scale-up links
  double links(int a, int b) const { return count_[index(a, b)]; }  // number of direct links between two GPUs
  double between(int a, int b) const;                               // bytes/s between two GPUs

  // Network cards that GPUs use, as indices into NcclTopology::nets. The cards of one entry serve the same GPUs.
  struct Port {
    std::vector<int> nets;
    std::vector<int> gpus;
    double bandwidth = 0;  // sum over all cards, bytes/s
  };
  std::span<const Port> ports() const { return ports_; }
  int port_of(int gpu) const;  // first port that the GPU sends over; -1: none
  int used_nets() const;
  double port_share(int gpu) const { return port_share_[static_cast<std::size_t>(gpu)]; }
  std::vector<std::string> unused_nets() const;

  // Marks the direct links as the ones that the link's profile was measured on, so that the profile covers small
  // groups.
  void keep_profile() { by_profile_ = true; }
  bool by_profile() const { return by_profile_; }

  // True if every group has the default value: nothing distinguishes the GPUs.
  bool alike() const;
  // Returns the deviations of a group of GPUs of one node, ascending, each once.
  GroupInside group(std::span<const int> gpus) const;
  bool needs_pcie() const;  // true if two GPUs have no scale-up link between them

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
  double rings_among(const Set& set) const;  // number of rings, in units of one link
  std::vector<Set> tiling(const Set& set) const;

  NcclTopology file_;
  std::vector<int> vertex_;
  PciTree tree_;
  ScaleUpKind kind_ = ScaleUpKind::none;
  std::vector<double> count_;                   // number of direct links between GPUs a and b
  std::vector<std::vector<double>> to_switch_;  // bytes/s of each GPU to each switch: [switch][gpu]
  std::vector<double> total_;                   // links to unused GPUs included
  std::vector<double> to_host_;                 // bytes/s to the processor without PCI Express (C2C); 0: none
  double link_rate_ = 0;                        // rate of one direct link
  double scale_up_rate_ = 0;
  double pcie_rate_ = 0;
  double host_rate_ = 0;
  std::vector<std::vector<int>> nets_of_;  // cards of each GPU
  std::vector<Port> ports_;
  std::vector<double> port_share_;
  bool same_ports_ = true;
  bool by_profile_ = false;
  mutable Remembered<GroupInside> groups_;
};

}  // namespace mirfak
