#pragma once

#include "cluster/cluster.hpp"
#include "cost/explanation.hpp"
#include "sharding/sharding.hpp"

#include <string_view>

namespace mirfak {

// Where the ranks of a group are, as far as the price of communication goes.
struct CommunicationGroup {
  GroupShape shape;
  bool crosses_leaves = false;  // its network traffic passes the spines
};
CommunicationGroup communication_group(const Cluster& cluster, std::span<const int> devices);

// What one collective, or one transfer between two devices, costs.
struct CommunicationCost {
  double seconds = 0;
  double latency_s = 0;
  double transfer_s = 0;
  double bytes_sent = 0;       // by one rank
  double bytes_per_s = 0;      // the bandwidth that the transfer time assumes, bus bandwidth for collectives
  std::string_view algorithm;  // "ring", "tree", "in-switch", "send"
  bool on_network = false;     // the network, not the scale-up link, bounds it
};

// Prices communication between devices of one node type. A value; the referenced hardware must outlive it.
//
// With n ranks in N scale-up domains, B the bandwidth that a rank's ring gets (the smaller of the scale-up link's
// and, when N > 1, of all network ports of the group's ranks of one domain together), S the buffer:
//   ring all-reduce          base + 2 (n - N) l_s + 2 (N - 1) l_n + 2 (n - 1)/n S / B
//   ring all-gather, reduce-scatter, all-to-all: half of each term but the base
//   tree all-reduce          base + 2 (n/N - 1) l_s + 2 log2(N) l_n + 2 S / (0.92 B)     (N > 1)
//   in-switch all-reduce     as the ring, B the in-switch bus bandwidth                        (N = 1)
// a shift is a send (of its slowest hop),
// and the smallest time is taken, as NCCL does (NVIDIA/nccl v2.28.9, src/graph/tuning.cc; 0.92 is its factor for
// trees). A network port's bandwidth is shared by the devices of a node: those of other groups are assumed to
// communicate at the same time, as ranks in lockstep do.
class CollectiveModel {
 public:
  CollectiveModel(const NodeHardware& hardware, const Fabric& fabric) : hardware_(hardware), fabric_(fabric) {}

  // `bytes`: the larger of the buffers before and after on one rank (see ReshardStep).
  CommunicationCost price(CollectiveKind kind, double bytes, const CommunicationGroup& group) const;
  // One transfer of `bytes` from a device to another; `same_domain`: over the scale-up link.
  CommunicationCost price_send(double bytes, bool same_domain, bool crosses_leaves) const;

  Explanation explain(CollectiveKind kind, double bytes, const CommunicationGroup& group) const;
  Explanation explain_send(double bytes, bool same_domain, bool crosses_leaves) const;

  double port_share() const;  // bytes/s of network line rate that one device of a full node gets

 private:
  double ring_bandwidth(const CommunicationGroup& group) const;
  double network_bandwidth(const CommunicationGroup& group) const;

  const NodeHardware& hardware_;
  const Fabric& fabric_;
};

}  // namespace mirfak
