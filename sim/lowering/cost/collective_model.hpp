#pragma once

#include "cluster/cluster.hpp"
#include "cost/explanation.hpp"
#include "cost/nccl_choice.hpp"
#include "network/collective_flows.hpp"
#include "network/node_inside.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace mirfak {

// Placement of the ranks of a group, as far as the price of communication depends on it.
struct CommunicationGroup {
  GroupShape shape;
  bool crosses_leaves = false;  // the group's network traffic passes the spines
  GroupInside inside;           // effect of the topology inside nodes, for nodes with a topology of their own

  friend auto operator<=>(const CommunicationGroup&, const CommunicationGroup&) = default;
};
// Returns the group without oversubscription, as if it had the links between switches for itself. A program's
// communication is priced for such groups, since the engine shares these links (Program::traffic_of). A price with
// `crosses_leaves` is an estimate without a program, as if all groups like this one used the links at once.
CommunicationGroup alone(CommunicationGroup group);
CommunicationGroup communication_group(const Cluster& cluster, std::span<const int> devices);
// Number of nodes of the device's kind that share a leaf switch, or the corresponding part of another fabric, between
// whose parts messages meet oversubscription (cluster/fabric.hpp). 1 for a fabric without spines, all nodes for a
// fabric from a file.
int nodes_per_leaf(const Cluster& cluster, int device);
// Number of the device's leaf, equal for devices on the same leaf.
int leaf_of(const Cluster& cluster, int device);

// Cost of one collective, or of one transfer between two devices.
struct CommunicationCost {
  double seconds = 0;
  double latency_s = 0;
  double transfer_s = 0;           // seconds - latency_s
  double bytes_sent = 0;           // bytes that one rank sends
  double bytes_per_s = 0;          // bytes_sent over transfer_s; for collectives the bus bandwidth without latency
  double network_bytes_per_s = 0;  // bytes/s on one rank's share of the ports, each way, averaged over `seconds`
  std::string_view algorithm;      // "ring", "tree", "in-switch", ..., "exchange", "send"
  std::string_view protocol;       // "LL", "LL128", "Simple"; empty for sends and exchanges
  int multiprocessors = 0;  // multiprocessors of each GPU that kernels cannot use meanwhile: one for each channel
  double memory_bytes = 0;  // bytes that a rank's memory reads and writes for the communication
  bool on_network = false;  // the communication crosses scale-up domains
  FlowPattern flows = FlowPattern::none;  // pattern of the messages that cross scale-up domains
};

// Prices communication between devices of one node type, as NCCL does it: nccl_choice picks the algorithm and protocol,
// and this model computes their time. A value; the referenced hardware must outlive it. Cheap: a few dozen operations a
// price, no allocation.
//
// With n ranks in N scale-up domains of g each, S the buffer, b_p, l_p and B_p of protocol p (RingProtocols), x extra
// steps, hop h_p over the network, P the network ports of a domain's ranks together at their efficiency and e_p the
// protocol's share of it (LL 1/2, LL128 0.92, Simple 1):
//   ring             b_p + (s - k) l_p + k h_p + (s + x) S/n / min(B_p, e_p P),  s = n - 1 steps (all-reduce twice
//                    that), k = N - 1 of them over the network (twice that)
//   tree             b_p + 2 (g - 1) l_p + 2 log2(N) h_p + S max(2/B_p, w/(e_p P)),  w = 1 for N = 2, else 2
//   in-switch        b + S (1 + 1/n)/B + settling,      in-switch tree: and 2 log2(N) h, w/P, as a tree
//   in-network       as the in-switch tree with one hop each way and w = 1
//   PAT              8 us + log2(N) h/3.5 + 2.8 us n + S/(0.75 P)
//   all-to-all       b + (n - 1) l + max((g - 1 + x) S/n / B, (n - g) S/n / P1), P1 one rank's share of the ports
//   send, shift      latency + S / B, a shift as its slowest hop
// Communication across domains also takes settling_s log2(N) S/(S + settling_bytes) of the network. The devices of a
// node share the bandwidth of its network ports. The devices of other groups are assumed to communicate at the same
// time, as ranks in lockstep do, so a group has the share of its own ranks, and all ports if it holds all GPUs of its
// nodes.
class CollectiveModel {
 public:
  CollectiveModel(const NodeHardware& hardware, const Fabric& fabric, NcclVersion version = NcclVersion::v2_28);

  // `bytes`: the larger of the buffers before and after on one rank (see ReshardStep). The price for a fixed algorithm
  // and protocol never falls as bytes grow; it may fall where NCCL changes its choice.
  CommunicationCost price(CollectiveKind kind, double bytes, const CommunicationGroup& group) const;
  // Prices one transfer of `bytes` from a device to another; `same_domain`: over the scale-up link. `inside`: topology
  // between the two devices, if their nodes have a topology of their own.
  CommunicationCost price_send(double bytes, bool same_domain, const GroupInside& inside = {}) const;

  Explanation explain(CollectiveKind kind, double bytes, const CommunicationGroup& group) const;
  Explanation explain_send(double bytes, bool same_domain, const GroupInside& inside = {}) const;

  double port_share() const;  // bytes/s of network line rate that one device of a full node gets
  // Bytes/s of line rate that a device has on the links inside its domain in an exchange with the other devices.
  double link_share(const CommunicationGroup& group) const;

  NcclChoice choice(CollectiveKind kind, double bytes, const CommunicationGroup& group) const;

  // Limits the channels of every collective (NCCL_MAX_CTAS, maxCTAs of a communicator). With fewer channels than NCCL
  // takes by itself, a rank sends no faster than these channels do (channel_bytes_per_s). NCCL's choice of algorithm
  // and protocol stays, as it does not depend on this limit. 0: no limit.
  void set_max_channels(int channels) { max_channels_ = channels; }
  // Returns the multiprocessors of a collective whose buffers are registered (nccl_choice.hpp); 0: no figure is known.
  int registered_channels(CollectiveKind kind, const CommunicationGroup& group) const {
    return mirfak::registered_channels(kind, nccl_group(group));
  }
  double time_factor() const { return time_factor_; }  // the node type's correction: a factor on all times

 private:
  struct ProtocolTime {
    double base_s = 0;
    double step_s = 0;
    double bytes_per_s = 0;
  };
  // A kind of link between the GPUs of a node, and NCCL's figures for it.
  struct InsideLink {
    const LinkSpec* spec = nullptr;
    RingProtocols protocols;
    ExchangeFit exchange;
    std::array<ProtocolTime, kProtocols> times;
    bool nvlink = false;
    bool switched = false;
  };
  // One collective being priced.
  struct Case {
    CollectiveKind kind{};
    const InsideLink* link = nullptr;
    double bytes = 0;
    double ranks = 0;
    double domains = 0;
    double per_domain = 0;    // ranks in each domain
    double inside_share = 1;  // share of the link's efficiencies, where wiring bounds a group of this size
    double line_ports = 0;    // bytes/s of all ports of a domain's ranks
    double ports = 0;         // bytes/s of `line_ports` that large messages reach
    double levels = 0;        // levels of a tree over the domains
  };
  // Parts of a price: latency, time that grows with bytes, and bytes over a domain's ports.
  struct Parts {
    double latency_s = 0;
    double transfer_s = 0;
    double domain_bytes = 0;
  };

  CommunicationCost corrected(CommunicationCost cost) const;
  CommunicationCost price_uncorrected(CollectiveKind kind, double bytes, const CommunicationGroup& group) const;
  CommunicationCost send_uncorrected(double bytes, bool same_domain, bool crosses_leaves,
                                     const GroupInside& inside) const;
  Explanation explain_send_uncorrected(double bytes, bool same_domain, bool crosses_leaves,
                                       const GroupInside& inside) const;
  static InsideLink inside_link(const LinkSpec& spec, bool nvlink, bool switched);
  const InsideLink& link_of(const InsideWay& way) const { return way.over_pcie && over_pcie_ ? *over_pcie_ : inside_; }
  double inside_share(const InsideWay& way, int ranks) const;
  double send_rate(const InsideWay& way) const;  // bytes/s of a large message to another device of the domain
  double port_share(const CommunicationGroup& group) const;
  Case case_of(CollectiveKind kind, double bytes, const CommunicationGroup& group) const;
  NcclGroup nccl_group(const CommunicationGroup& group) const;
  Parts ring(const Case& c, Protocol protocol) const;
  Parts tree(const Case& c, Protocol protocol) const;
  Parts in_switch(const Case& c, Algorithm algorithm) const;
  Parts pat(const Case& c) const;
  Parts exchange(const Case& c) const;
  double settling_s(const Case& c) const;
  void limit_channels(const NcclChoice& chosen, const CommunicationGroup& group, CommunicationCost& cost) const;
  double hop_s(Protocol protocol) const;

  const NodeHardware* hardware_;
  const Fabric* fabric_;
  InsideLink inside_;
  std::optional<InsideLink> over_pcie_;  // for nodes with GPUs that no other link joins
  NcclVersion version_;
  double time_factor_ = 1;
  int max_channels_ = 0;
};

}  // namespace mirfak
