#include "cost/collective_model.hpp"

#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Shares of a port's bandwidth that the protocols carry: LL 4 bytes of data in 8, LL128 120 in 128.
constexpr std::array<double, kProtocols> kNetworkShare = {0.5, 0.92, 1};
// Seconds of a hop beyond those of LL: flags of LL128, fences and flushes of Simple, in-switch trees (the differences
// between NCCL's own network latencies, src/graph/tuning.cc).
constexpr std::array<double, kProtocols> kBeyondLl = {0, 1.3e-6, 9e-6};
constexpr double kInSwitchBeyondLl = 16e-6;
// Shares of the line rate by NCCL's count: NVLink 0.8 (src/graph/topo.h: 20 of 25 GB/s a link), a port 0.96.
constexpr double kNcclLinkShare = 0.8;
constexpr double kNcclPortShare = 0.96;
constexpr int kSendChannels = 2;  // NCCL's p2pnChannelsPerPeer across nodes: recalled, to be confirmed

Explanation::Input input(std::string name, const Figure& figure) {
  return {std::move(name), fmt::format("{:.4g}", figure.value), figure.source};
}

// Returns the traffic of one rank divided by its buffer size, for n ranks.
double traffic_factor(CollectiveKind kind, double n) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::broadcast:
      return 1;
    default:
      return (n - 1) / n;
  }
}

NcclGroup::Generation generation_of(const GpuSpec& gpu) {
  const std::string& architecture = gpu.architecture;
  const bool successor = gpu.like_architecture == "blackwell";  // NCCL's latest generation stands for later ones
  if (architecture == "blackwell" || successor) return NcclGroup::Generation::blackwell;
  if (architecture == "hopper") return NcclGroup::Generation::hopper;
  if (architecture == "volta" || architecture == "turing") return NcclGroup::Generation::volta;
  return NcclGroup::Generation::ampere;
}

FlowPattern flows_of(CollectiveKind kind, Algorithm algorithm) {
  if (kind == CollectiveKind::all_to_all) return FlowPattern::exchange;
  switch (algorithm) {
    case Algorithm::tree:
    case Algorithm::in_switch_tree:
      return FlowPattern::tree;
    case Algorithm::in_network:
      return FlowPattern::in_network;
    case Algorithm::pat:
      return FlowPattern::pat;
    default:
      return FlowPattern::ring;
  }
}

// Returns how often a rank's memory is read or written for a byte that the rank sends, and receives: NCCL's ring steps
// (recvReduceSend, recvCopySend; src/device/prims_simple.h) read the buffer that a neighbour filled, read or write the
// rank's own data, and are written to by that neighbour. A send reads its data and is copied out of the buffer as well.
// A switch that reduces reads each byte once, or writes it once.
double accesses_per_byte(CollectiveKind kind, Algorithm algorithm) {
  if (kind == CollectiveKind::all_to_all) return 4;
  switch (algorithm) {
    case Algorithm::in_switch:
    case Algorithm::in_switch_tree:
    case Algorithm::in_network:
      return 1;
    default:
      return 3;
  }
}

double steps_of_ring(CollectiveKind kind, double ranks) {
  return kind == CollectiveKind::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

}  // namespace

int nodes_per_leaf(const Cluster& cluster, int device) {
  const Fabric& fabric = cluster.fabric();
  // Leaves from a file need not be alike: with all nodes in one leaf, no two nodes count as being at the same place of
  // a leaf.
  if (fabric.leaf_of_node) return cluster.nodes();
  return nodes_per_leaf(fabric, cluster.group_of(device).hardware.spec);
}

int leaf_of(const Cluster& cluster, int device) {
  const Fabric& fabric = cluster.fabric();
  if (fabric.type == FabricType::full_bisection) return 0;
  const int node = cluster.place_of(device).node;
  if (fabric.leaf_of_node) return (*fabric.leaf_of_node)[static_cast<std::size_t>(node)];
  return node / nodes_per_leaf(cluster, device);
}

CommunicationGroup alone(CommunicationGroup group) {
  group.crosses_leaves = false;
  return group;
}

namespace {

// Returns the topology of the slowest of the nodes that the group has ranks on.
GroupInside inside_of(const Cluster& cluster, std::span<const int> devices) {
  struct Ranks {
    const NodeSpec* spec = nullptr;
    std::vector<int> gpus;
  };
  std::map<int, Ranks> nodes;
  for (const int device : devices) {
    const NodeSpec& spec = cluster.group_of(device).hardware.spec;
    if (!spec.topology.inside || spec.topology.inside->alike()) continue;
    const DevicePlace place = cluster.place_of(device);
    Ranks& ranks = nodes[place.node];
    ranks.spec = &spec;
    ranks.gpus.push_back(place.local / spec.ranks_per_gpu);
  }
  std::optional<GroupInside> out;
  std::set<std::pair<const NodeInside*, std::vector<int>>> seen;
  for (auto& [node, ranks] : nodes) {
    std::sort(ranks.gpus.begin(), ranks.gpus.end());
    ranks.gpus.erase(std::unique(ranks.gpus.begin(), ranks.gpus.end()), ranks.gpus.end());
    const NodeInside& inside = *ranks.spec->topology.inside;
    if (!seen.emplace(&inside, ranks.gpus).second) continue;
    GroupInside own = inside.group(ranks.gpus);
    own.port_share /= ranks.spec->ranks_per_gpu;
    out = out ? slower_of(*out, own) : own;
  }
  return out.value_or(GroupInside{});
}

bool has_inside(const Cluster& cluster) {
  return std::any_of(cluster.groups().begin(), cluster.groups().end(),
                     [](const NodeGroup& group) { return group.hardware.spec.topology.inside != nullptr; });
}

}  // namespace

CommunicationGroup communication_group(const Cluster& cluster, std::span<const int> devices) {
  CommunicationGroup group;
  group.shape = shape_of(cluster, devices);
  if (has_inside(cluster)) group.inside = inside_of(cluster, devices);
  if (cluster.fabric().type == FabricType::full_bisection || devices.empty()) return group;
  const int first = leaf_of(cluster, devices.front());
  group.crosses_leaves =
      std::any_of(devices.begin(), devices.end(), [&](int device) { return leaf_of(cluster, device) != first; });
  return group;
}

CollectiveModel::InsideLink CollectiveModel::inside_link(const LinkSpec& spec, bool nvlink, bool switched) {
  InsideLink out{&spec, protocols_of(spec), exchange_of(spec), {}, nvlink, switched};
  const RingProtocols& p = out.protocols;
  const double line = spec.bandwidth.value;
  out.times[0] = {spec.base_latency_s.value, spec.latency_s.value, line * p.ll_efficiency.value};
  out.times[1] = {p.ll128_base_s.value, p.ll128_step_s.value, line * p.ll128_efficiency.value};
  out.times[2] = {p.simple_base_s.value, p.simple_step_s.value, line * spec.efficiency.value};
  return out;
}

CollectiveModel::CollectiveModel(const NodeHardware& hardware, const Fabric& fabric, NcclVersion version)
    : hardware_(&hardware),
      fabric_(&fabric),
      inside_(inside_link(hardware.scale_up, hardware.spec.wiring != Wiring::host_bridge,
                          hardware.spec.wiring == Wiring::switched)),
      version_(version),
      time_factor_(hardware.spec.time_factors().communication) {
  if (hardware.peers) over_pcie_ = inside_link(*hardware.peers, false, false);
}

double CollectiveModel::port_share() const {
  return hardware_->network.bandwidth.value * hardware_->spec.ports / hardware_->spec.gpus;
}

double CollectiveModel::port_share(const CommunicationGroup& group) const {
  return group.inside.port_share > 0 ? group.inside.port_share : port_share();
}

double CollectiveModel::inside_share(const InsideWay& way, int ranks) const {
  const LinkSpec& link = *link_of(way).spec;
  if (!way.by_ranks) return way.share;
  return way.share * (link.efficiency_for(std::max(2, ranks)).value / link.efficiency.value);
}

// If wiring bounds groups of two in a profile, it bounds the profile's sends as much.
double CollectiveModel::send_rate(const InsideWay& way) const {
  const LinkSpec& link = *link_of(way).spec;
  double efficiency = link.send_efficiency.value;
  if (!way.by_ranks && !link.efficiency_of_ranks.empty()) {
    efficiency = std::min(1.0, efficiency * link.efficiency.value / link.efficiency_for(2).value);
  }
  return link.bandwidth.value * efficiency * way.share;
}

NcclGroup CollectiveModel::nccl_group(const CommunicationGroup& group) const {
  const GroupShape& shape = group.shape;
  const InsideLink& inside = link_of(group.inside.ring);
  const LinkSpec& link = *inside.spec;
  NcclGroup out;
  out.ranks = shape.ranks;
  out.domains = shape.domains;
  out.generation = generation_of(hardware_->gpu);
  out.nvlink = inside.nvlink;
  out.switched = inside.switched;
  out.inside_gbps = link.bandwidth.value * (inside.nvlink ? kNcclLinkShare : link.efficiency.value) *
                    inside_share(group.inside.ring, shape.ranks_per_domain) / kGB;
  if (shape.domains > 1) out.outside_gbps = kNcclPortShare * port_share(group) * shape.fewest_per_domain / kGB;
  out.in_switch =
      inside.switched && link.in_switch_reduction &&
      (shape.domains > 1 ? shape.fewest_per_domain : shape.ranks) >= link.in_switch_reduction->minimum_ranks;
  out.version = version_;
  out.in_network = fabric_->in_network_reduction;
  return out;
}

double CollectiveModel::link_share(const CommunicationGroup& group) const {
  const InsideWay& way = group.inside.exchange;
  return link_of(way).spec->bandwidth.value * inside_share(way, group.shape.ranks_per_domain);
}

CollectiveModel::Case CollectiveModel::case_of(CollectiveKind kind, double bytes,
                                               const CommunicationGroup& group) const {
  const GroupShape& shape = group.shape;
  Case c;
  c.kind = kind;
  c.bytes = bytes;
  c.ranks = shape.ranks;
  c.domains = shape.domains;
  c.per_domain = c.ranks / c.domains;
  const InsideWay& way = kind == CollectiveKind::all_to_all ? group.inside.exchange : group.inside.ring;
  c.link = &link_of(way);
  c.inside_share = inside_share(way, shape.ranks_per_domain);
  if (shape.domains > 1) {
    c.line_ports = port_share(group) * shape.fewest_per_domain;
    if (group.crosses_leaves) c.line_ports /= fabric_->oversubscription;
    c.ports = c.line_ports * hardware_->network.efficiency_for(shape.nodes).value;
    c.levels = std::floor(std::log2(c.domains));
  }
  return c;
}

double CollectiveModel::hop_s(Protocol protocol) const {
  return hardware_->network.latency_s.value + kBeyondLl[static_cast<std::size_t>(protocol)];
}

double CollectiveModel::settling_s(const Case& c) const {
  const LinkSpec& network = hardware_->network;
  if (c.domains <= 1 || network.settling_s.value <= 0) return 0;
  return c.levels * network.settling_s.value * c.bytes / (c.bytes + network.settling_bytes.value);
}

void CollectiveModel::limit_channels(const NcclChoice& chosen, const CommunicationGroup& group,
                                     CommunicationCost& cost) const {
  if (max_channels_ == 0 || max_channels_ >= chosen.channels) return;
  cost.multiprocessors = max_channels_;
  const double rate = max_channels_ * channel_bytes_per_s(nccl_group(group));
  cost.transfer_s = std::max(cost.transfer_s, cost.bytes_sent / rate);
}

CollectiveModel::Parts CollectiveModel::ring(const Case& c, Protocol protocol) const {
  const auto p = static_cast<std::size_t>(protocol);
  const ProtocolTime& time = c.link->times[p];
  const double steps = steps_of_ring(c.kind, c.ranks);
  const double rounds = c.kind == CollectiveKind::all_reduce ? 2 : 1;
  const double hops = rounds * (c.domains - 1);
  double bandwidth = time.bytes_per_s * c.inside_share;
  if (c.domains > 1) {
    const double ports = c.ports * kNetworkShare[p];
    bandwidth = c.per_domain > 1 ? std::min(bandwidth, ports) : ports;
  }
  // A broadcast passes on the whole buffer, other collectives parts of size 1/n.
  const double pieces = c.kind == CollectiveKind::broadcast ? c.ranks : steps + c.link->protocols.extra_steps.value;
  Parts out;
  out.transfer_s = pieces * c.bytes / c.ranks / bandwidth;
  double latency = (steps - hops) * time.step_s;
  if (c.domains <= 1) {
    const double overlap = protocol == Protocol::simple ? c.link->protocols.simple_overlap.value : 1;
    if (overlap > 1 && out.transfer_s > 0) {
      latency = std::pow(std::pow(latency, overlap) + std::pow(out.transfer_s, overlap), 1 / overlap) - out.transfer_s;
    }
  }
  out.latency_s = time.base_s + latency + hops * hop_s(protocol);
  if (c.domains > 1) out.domain_bytes = steps / c.ranks * c.bytes;
  return out;
}

CollectiveModel::Parts CollectiveModel::tree(const Case& c, Protocol protocol) const {
  const auto p = static_cast<std::size_t>(protocol);
  const ProtocolTime& time = c.link->times[p];
  const double ways = c.domains == 2 ? 1 : 2;
  Parts out;
  out.latency_s = time.base_s + 2 * ((c.per_domain - 1) * time.step_s + c.levels * hop_s(protocol));
  double seconds_per_byte = c.per_domain > 1 ? 2 / (time.bytes_per_s * c.inside_share) : 0;
  if (c.domains > 1) {
    seconds_per_byte = std::max(seconds_per_byte, ways / (c.ports * kNetworkShare[p]));
    out.domain_bytes = ways * c.bytes;
  }
  out.transfer_s = c.bytes * seconds_per_byte;
  return out;
}

CollectiveModel::Parts CollectiveModel::in_switch(const Case& c, Algorithm algorithm) const {
  const LinkSpec& link = *c.link->spec;
  const InSwitchReduction& reduction = *link.in_switch_reduction;
  double bandwidth =
      link.bandwidth.value * c.inside_share * reduction.efficiency_for(static_cast<int>(c.per_domain)).value;
  double hops = 0;
  double ways = 0;
  if (algorithm == Algorithm::in_switch_tree) {
    bandwidth *= reduction.tree_share.value;
    hops = 2 * c.levels;
    ways = c.domains == 2 ? 1 : 2;
  } else if (algorithm == Algorithm::in_network) {
    bandwidth *= reduction.network_share.value;
    hops = 2;
    ways = 1;
  }
  Parts out;
  out.latency_s = reduction.base_s.value + hops * (hardware_->network.latency_s.value + kInSwitchBeyondLl);
  double seconds_per_byte = (1 + 1 / c.per_domain) / bandwidth;
  if (c.domains > 1) {
    seconds_per_byte = std::max(seconds_per_byte, ways / c.ports);
    out.domain_bytes = ways * c.bytes;
  }
  out.transfer_s = c.bytes * seconds_per_byte +
                   reduction.settling_s.value * c.bytes / (c.bytes + std::max(1.0, reduction.settling_bytes.value));
  return out;
}

CollectiveModel::Parts CollectiveModel::pat(const Case& c) const {
  Parts out;
  out.latency_s = kPatBase + c.levels * hop_s(Protocol::simple) * kPatHopShare + kPatRank * c.ranks;
  out.domain_bytes = traffic_factor(c.kind, c.ranks) * c.bytes;
  out.transfer_s = out.domain_bytes / (kPatBandwidth * c.ports);
  return out;
}

CollectiveModel::Parts CollectiveModel::exchange(const Case& c) const {
  const double link = c.link->spec->bandwidth.value * c.inside_share;
  const ExchangeFit& fit = c.link->exchange;
  const double piece = c.bytes / c.ranks;
  const double peers = c.ranks - 1;
  const double near = c.per_domain - 1;
  const auto line = [&](const Figure& base, const Figure& peer, double extra, const Figure& efficiency) {
    return Parts{base.value + peers * peer.value, (near + extra) * piece / (link * efficiency.value), 0};
  };
  Parts out = line(fit.base_s, fit.peer_s, fit.extra_peers.value, fit.efficiency);
  const double settling = fit.settling_s.value * c.bytes / (c.bytes + std::max(1.0, fit.settling_bytes.value));
  out.transfer_s += settling;
  if (c.domains <= 1) {
    const Parts brief = line(fit.short_base_s, fit.short_peer_s, 0, fit.short_efficiency);
    return brief.latency_s + brief.transfer_s < out.latency_s + out.transfer_s ? brief : out;
  }
  const LinkSpec& network = hardware_->network;
  out.domain_bytes = c.per_domain * (c.ranks - c.per_domain) * piece;
  out.latency_s += network.send_latency_s.value;
  out.transfer_s = std::max(out.transfer_s, out.domain_bytes / (c.line_ports * network.send_efficiency.value));
  return out;
}

NcclChoice CollectiveModel::choice(CollectiveKind kind, double bytes, const CommunicationGroup& group) const {
  return nccl_choice(kind, bytes, nccl_group(group));
}

CommunicationCost CollectiveModel::corrected(CommunicationCost cost) const {
  if (time_factor_ == 1) return cost;
  for (double CommunicationCost::*part :
       {&CommunicationCost::seconds, &CommunicationCost::latency_s, &CommunicationCost::transfer_s}) {
    cost.*part *= time_factor_;
  }
  for (double CommunicationCost::*rate : {&CommunicationCost::bytes_per_s, &CommunicationCost::network_bytes_per_s}) {
    cost.*rate /= time_factor_;
  }
  return cost;
}

CommunicationCost CollectiveModel::price(CollectiveKind kind, double bytes, const CommunicationGroup& group) const {
  return corrected(price_uncorrected(kind, bytes, group));
}

CommunicationCost CollectiveModel::price_send(double bytes, bool same_domain, const GroupInside& inside) const {
  return corrected(send_uncorrected(bytes, same_domain, false, inside));
}

CommunicationCost CollectiveModel::price_uncorrected(CollectiveKind kind, double bytes,
                                                     const CommunicationGroup& group) const {
  if (group.shape.ranks <= 1) return {};
  if (kind == CollectiveKind::shift) {
    return send_uncorrected(bytes, group.shape.domains <= 1, group.crosses_leaves, group.inside);
  }
  const Case c = case_of(kind, bytes, group);
  const NcclChoice chosen = choice(kind, bytes, group);
  CommunicationCost cost;
  cost.algorithm = name_of(chosen.algorithm);
  cost.protocol = name_of(chosen.protocol);
  cost.multiprocessors = chosen.channels;
  if (c.domains > 1) cost.flows = flows_of(kind, chosen.algorithm);
  Parts parts;
  if (kind == CollectiveKind::all_to_all) {
    parts = exchange(c);
    cost.algorithm = "exchange";
    cost.protocol = {};
  } else if (chosen.algorithm == Algorithm::ring) {
    parts = ring(c, chosen.protocol);
  } else if (chosen.algorithm == Algorithm::tree) {
    parts = tree(c, chosen.protocol);
  } else if (chosen.algorithm == Algorithm::pat) {
    parts = pat(c);
  } else {
    parts = in_switch(c, chosen.algorithm);
  }
  parts.transfer_s += settling_s(c);
  cost.latency_s = parts.latency_s;
  cost.transfer_s = parts.transfer_s;
  cost.bytes_sent = bytes * traffic_factor(kind, c.ranks);
  cost.memory_bytes = cost.bytes_sent * accesses_per_byte(kind, chosen.algorithm);
  limit_channels(chosen, group, cost);
  cost.seconds = cost.latency_s + cost.transfer_s;
  if (cost.transfer_s > 0) cost.bytes_per_s = cost.bytes_sent / cost.transfer_s;
  if (cost.seconds > 0) cost.network_bytes_per_s = parts.domain_bytes / c.per_domain / cost.seconds;
  cost.on_network = c.domains > 1;
  return cost;
}

CommunicationCost CollectiveModel::send_uncorrected(double bytes, bool same_domain, bool crosses_leaves,
                                                    const GroupInside& inside) const {
  const LinkSpec& link = same_domain ? *link_of(inside.send).spec : hardware_->network;
  const double ports = inside.port_share > 0 ? inside.port_share : port_share();
  CommunicationCost cost;
  cost.bytes_per_s = same_domain ? send_rate(inside.send) : ports * link.send_efficiency.value;
  if (!same_domain && crosses_leaves) cost.bytes_per_s /= fabric_->oversubscription;
  cost.algorithm = "send";
  cost.latency_s = link.send_latency_s.value;
  cost.transfer_s = bytes / cost.bytes_per_s;
  cost.seconds = cost.latency_s + cost.transfer_s;
  cost.bytes_sent = bytes;
  cost.multiprocessors = kSendChannels;
  cost.on_network = !same_domain;
  if (!same_domain) cost.flows = FlowPattern::ring;  // a shift
  if (!same_domain) cost.network_bytes_per_s = bytes / cost.seconds;
  return cost;
}

namespace {

std::string evaluation_of(const CommunicationCost& cost) {
  if (cost.transfer_s <= 0) return fmt::format("{:.6g}", cost.latency_s);
  return fmt::format("{:.6g} + {:.6g} / {:.6g}", cost.latency_s, cost.bytes_sent, cost.bytes_per_s);
}

}  // namespace

Explanation CollectiveModel::explain(CollectiveKind kind, double bytes, const CommunicationGroup& group) const {
  if (kind == CollectiveKind::shift) {
    return mirfak::corrected(
        explain_send_uncorrected(bytes, group.shape.domains <= 1, group.crosses_leaves, group.inside), time_factor_);
  }
  const CommunicationCost cost = price_uncorrected(kind, bytes, group);
  const InsideLink& inside = link_of(kind == CollectiveKind::all_to_all ? group.inside.exchange : group.inside.ring);
  const LinkSpec& link = *inside.spec;
  Explanation out;
  out.formula = fmt::format("{}{}{} {} over {} ranks in {} scale-up domain{}: latency + bytes sent / bandwidth",
                            cost.algorithm, cost.protocol.empty() ? "" : " ", cost.protocol, name_of(kind),
                            group.shape.ranks, group.shape.domains, group.shape.domains == 1 ? "" : "s");
  out.numbers = fmt::format("buffer {}: latency {} + {} / ({})", format_bytes(bytes), format_seconds(cost.latency_s),
                            format_bytes(cost.bytes_sent), format_rate(cost.bytes_per_s));
  out.evaluation = evaluation_of(cost);
  const auto add = [&](const LinkSpec& of, const char* name, const Figure& figure) {
    out.inputs.push_back(input(of.name + " " + name, figure));
  };
  const bool in_switch = cost.algorithm.starts_with("in-");
  if (group.shape.ranks_per_domain > 1) add(link, "bandwidth, bytes/s", link.bandwidth);
  if (cost.algorithm == "exchange") {
    add(link, "all-to-all base, s", inside.exchange.base_s);
    add(link, "all-to-all per peer, s", inside.exchange.peer_s);
    add(link, "all-to-all efficiency", inside.exchange.efficiency);
  } else if (in_switch) {
    add(link, "in-switch base, s", link.in_switch_reduction->base_s);
    add(link, "in-switch efficiency", link.in_switch_reduction->efficiency_for(group.shape.ranks_per_domain));
    add(link, "in-switch settling, s", link.in_switch_reduction->settling_s);
  } else if (cost.protocol == "LL") {
    add(link, "LL base, s", link.base_latency_s);
    add(link, "LL step, s", link.latency_s);
    add(link, "LL efficiency", inside.protocols.ll_efficiency);
  } else if (cost.protocol == "LL128") {
    add(link, "LL128 base, s", inside.protocols.ll128_base_s);
    add(link, "LL128 step, s", inside.protocols.ll128_step_s);
    add(link, "LL128 efficiency", inside.protocols.ll128_efficiency);
  } else if (cost.algorithm != "PAT") {
    add(link, "Simple base, s", inside.protocols.simple_base_s);
    add(link, "Simple step, s", inside.protocols.simple_step_s);
    add(link, "efficiency", link.efficiency_for(group.shape.ranks_per_domain));
  }
  if (cost.on_network) {
    const LinkSpec& network = hardware_->network;
    add(network, "bandwidth of a port, bytes/s", network.bandwidth);
    add(network, "efficiency", network.efficiency_for(group.shape.nodes));
    add(network, "latency per hop, s", network.latency_s);
    if (network.settling_s.value > 0) add(network, "settling, s", network.settling_s);
  }
  return mirfak::corrected(std::move(out), time_factor_);
}

Explanation CollectiveModel::explain_send(double bytes, bool same_domain, const GroupInside& inside) const {
  return mirfak::corrected(explain_send_uncorrected(bytes, same_domain, false, inside), time_factor_);
}

Explanation CollectiveModel::explain_send_uncorrected(double bytes, bool same_domain, bool crosses_leaves,
                                                      const GroupInside& inside) const {
  const CommunicationCost cost = send_uncorrected(bytes, same_domain, crosses_leaves, inside);
  const LinkSpec& link = same_domain ? *link_of(inside.send).spec : hardware_->network;
  Explanation out;
  out.formula = fmt::format("send over {}: latency + bytes / bandwidth", link.name);
  out.numbers = fmt::format("{}: latency {} + transfer at {}", format_bytes(bytes), format_seconds(cost.latency_s),
                            format_rate(cost.bytes_per_s));
  out.evaluation = evaluation_of(cost);
  out.inputs = {input(link.name + " bandwidth, bytes/s", link.bandwidth),
                input(link.name + " send efficiency", link.send_efficiency),
                input(link.name + " send latency, s", link.send_latency_s)};
  return out;
}

}  // namespace mirfak
