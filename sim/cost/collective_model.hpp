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

// Where the ranks of a group are, as far as the price of communication goes.
struct CommunicationGroup {
  GroupShape shape;
  bool crosses_leaves = false;  // its network traffic passes the spines
  GroupInside inside;           // of nodes with a topology of their own, what its GPUs make of it

  friend auto operator<=>(const CommunicationGroup&, const CommunicationGroup&) = default;
};
// The group with the links between switches for itself: what a program's communication is priced as, since the engine
// has it share these (Program::traffic_of). With `crosses_leaves` a price is an estimate without a program, as if all
// groups like this one used them at once.
CommunicationGroup alone(CommunicationGroup group);
CommunicationGroup communication_group(const Cluster& cluster, std::span<const int> devices);
// How many nodes like a device's share a leaf switch, or whatever a fabric has between whose parts messages meet
// oversubscription (cluster/fabric.hpp); of a fabric without spines, one; of one from a file, all nodes.
int nodes_per_leaf(const Cluster& cluster, int device);
// A number for that leaf, equal for devices on the same one.
int leaf_of(const Cluster& cluster, int device);

// What one collective, or one transfer between two devices, costs.
struct CommunicationCost {
  double seconds = 0;
  double latency_s = 0;
  double transfer_s = 0;           // seconds - latency_s
  double bytes_sent = 0;           // by one rank
  double bytes_per_s = 0;          // bytes_sent over transfer_s: of collectives the bus bandwidth, but for latency
  double network_bytes_per_s = 0;  // of one rank's share of the ports, each way, on average over `seconds`
  std::string_view algorithm;      // "ring", "tree", "in-switch", ..., "exchange", "send"
  std::string_view protocol;       // "LL", "LL128", "Simple"; empty for sends and exchanges
  int multiprocessors = 0;         // of each GPU taken away from kernels meanwhile: one for each channel
  bool on_network = false;         // it crosses scale-up domains
  FlowPattern flows = FlowPattern::none;  // the messages that do
};

// Prices communication between devices of one node type, as NCCL does it: nccl_choice says which algorithm and protocol
// run, this says how long they take. A value; the referenced hardware must outlive it. Cheap: a few dozen operations a
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
// Whatever crosses domains also pays settling_s log2(N) S/(S + settling_bytes) of the network. A network port's
// bandwidth is shared by the devices of a node: those of other groups are assumed to communicate at the same time, as
// ranks in lockstep do, so a group has the share of its own ranks, all ports when it holds all GPUs of its nodes.
class CollectiveModel {
 public:
  CollectiveModel(const NodeHardware& hardware, const Fabric& fabric, NcclVersion version = NcclVersion::v2_28);

  // `bytes`: the larger of the buffers before and after on one rank (see ReshardStep). For an algorithm and protocol
  // it never falls as bytes grow; where NCCL changes its choice it may.
  CommunicationCost price(CollectiveKind kind, double bytes, const CommunicationGroup& group) const;
  // One transfer of `bytes` from a device to another; `same_domain`: over the scale-up link.
  // `inside`: of the two, where their nodes have a topology of their own.
  CommunicationCost price_send(double bytes, bool same_domain, const GroupInside& inside = {}) const;

  Explanation explain(CollectiveKind kind, double bytes, const CommunicationGroup& group) const;
  Explanation explain_send(double bytes, bool same_domain, const GroupInside& inside = {}) const;

  double port_share() const;  // bytes/s of network line rate that one device of a full node gets
  // Bytes/s of the line rate of the links inside that a device has towards others of its domain in an exchange.
  double link_share(const CommunicationGroup& group) const;

  NcclChoice choice(CollectiveKind kind, double bytes, const CommunicationGroup& group) const;
  double time_factor() const { return time_factor_; }  // the node type's correction: prices are as many times longer

 private:
  struct ProtocolTime {
    double base_s = 0;
    double step_s = 0;
    double bytes_per_s = 0;
  };
  // A kind of link between the GPUs of a node, and how NCCL uses it.
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
    double per_domain = 0;    // ranks of a domain
    double inside_share = 1;  // of the link's efficiencies, where wiring bounds a group of this size
    double line_ports = 0;    // bytes/s of all ports of a domain's ranks
    double ports = 0;         // and what large messages reach of it
    double levels = 0;        // of a tree over the domains
  };
  // A price before it is given out: what of it is latency, what grows with bytes, and the bytes over a domain's ports.
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
  double hop_s(Protocol protocol) const;

  const NodeHardware* hardware_;
  const Fabric* fabric_;
  InsideLink inside_;
  std::optional<InsideLink> over_pcie_;  // of nodes some of whose GPUs have no other link between them
  NcclVersion version_;
  double time_factor_ = 1;
};

}  // namespace mirfak
