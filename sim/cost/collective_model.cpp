#include "cost/collective_model.hpp"

#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kTreeEfficiency = 0.92;  // NCCL's tuning factor of trees over rings

Explanation::Input input(std::string name, const Figure& figure) {
  return {std::move(name), fmt::format("{:.4g}", figure.value), figure.source};
}

// Traffic of one rank over its buffer size, for n ranks.
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

CommunicationCost sum(double latency_s, double bytes, double factor, double bytes_per_s, std::string_view algorithm) {
  CommunicationCost cost;
  cost.latency_s = latency_s;
  cost.transfer_s = bytes * factor / bytes_per_s;
  cost.seconds = cost.latency_s + cost.transfer_s;
  cost.bytes_sent = bytes * factor;
  cost.bytes_per_s = bytes_per_s;
  cost.algorithm = algorithm;
  return cost;
}

}  // namespace

CommunicationGroup communication_group(const Cluster& cluster, std::span<const int> devices) {
  CommunicationGroup group;
  group.shape = shape_of(cluster, devices);
  const Fabric& fabric = cluster.fabric();
  if (fabric.type == FabricType::full_bisection || devices.empty()) return group;
  const auto leaf_of = [&](int device) {
    const int ports = cluster.group_of(device).hardware.spec.ports;
    const int nodes_per_leaf = fabric.type == FabricType::rail_optimized
                                   ? fabric.leaf_ports
                                   : std::max(1, fabric.leaf_ports / std::max(1, ports));
    return cluster.place_of(device).node / nodes_per_leaf;
  };
  const int first = leaf_of(devices.front());
  group.crosses_leaves =
      std::any_of(devices.begin(), devices.end(), [&](int device) { return leaf_of(device) != first; });
  return group;
}

double CollectiveModel::port_share() const {
  return hardware_.network.bandwidth.value * hardware_.spec.ports / hardware_.spec.gpus;
}

double CollectiveModel::network_bandwidth(const CommunicationGroup& group) const {
  const LinkSpec& network = hardware_.network;
  const double share = port_share() * group.shape.ranks_per_node * network.efficiency_for(group.shape.nodes).value;
  return group.crosses_leaves ? share / fabric_.oversubscription : share;
}

double CollectiveModel::ring_bandwidth(const CommunicationGroup& group) const {
  const LinkSpec& link = hardware_.scale_up;
  const double inside = link.bandwidth.value * link.efficiency_for(std::max(2, group.shape.ranks_per_domain)).value;
  if (group.shape.domains <= 1) return inside;
  const double outside = network_bandwidth(group);
  return group.shape.ranks_per_domain > 1 ? std::min(inside, outside) : outside;
}

CommunicationCost CollectiveModel::price(CollectiveKind kind, double bytes, const CommunicationGroup& group) const {
  const double ranks = group.shape.ranks;
  if (ranks <= 1) return {};
  if (kind == CollectiveKind::shift) return price_send(bytes, group.shape.domains <= 1, group.crosses_leaves);
  const double domains = group.shape.domains;
  const LinkSpec& link = hardware_.scale_up;
  const LinkSpec& base = domains > 1 ? hardware_.network : link;
  const double bandwidth = ring_bandwidth(group);
  const bool reduces = kind == CollectiveKind::all_reduce;
  const double rounds = reduces ? 2 : 1;
  const double ring_latency = base.base_latency_s.value + rounds * (ranks - domains) * link.latency_s.value +
                              rounds * (domains - 1) * hardware_.network.latency_s.value;
  CommunicationCost best = sum(ring_latency, bytes, traffic_factor(kind, ranks), bandwidth, "ring");
  const auto consider = [&](CommunicationCost other) {
    if (other.seconds < best.seconds) best = other;
  };
  if (reduces && domains > 1) {
    const double latency = base.base_latency_s.value + 2 * (group.shape.ranks_per_domain - 1) * link.latency_s.value +
                           2 * std::ceil(std::log2(domains)) * hardware_.network.latency_s.value;
    consider(sum(latency, bytes, 2, bandwidth * kTreeEfficiency, "tree"));
  }
  if (reduces && domains <= 1 && link.in_switch_reduction && ranks >= link.in_switch_reduction->minimum_ranks) {
    const double bus = link.bandwidth.value * link.in_switch_reduction->efficiency.value;
    consider(sum(ring_latency, bytes, traffic_factor(kind, ranks), bus, "in-switch"));
  }
  best.on_network = domains > 1;
  return best;
}

CommunicationCost CollectiveModel::price_send(double bytes, bool same_domain, bool crosses_leaves) const {
  const LinkSpec& link = same_domain ? hardware_.scale_up : hardware_.network;
  double bandwidth = (same_domain ? link.bandwidth.value : port_share()) * link.send_efficiency.value;
  if (!same_domain && crosses_leaves) bandwidth /= fabric_.oversubscription;
  CommunicationCost cost = sum(link.send_latency_s.value, bytes, 1, bandwidth, "send");
  cost.on_network = !same_domain;
  return cost;
}

Explanation CollectiveModel::explain(CollectiveKind kind, double bytes, const CommunicationGroup& group) const {
  if (kind == CollectiveKind::shift) return explain_send(bytes, group.shape.domains <= 1, group.crosses_leaves);
  const CommunicationCost cost = price(kind, bytes, group);
  const LinkSpec& link = hardware_.scale_up;
  Explanation out;
  out.formula =
      fmt::format("{} {} over {} ranks in {} scale-up domain{}: latency + bytes sent / bandwidth", cost.algorithm,
                  name_of(kind), group.shape.ranks, group.shape.domains, group.shape.domains == 1 ? "" : "s");
  out.numbers = fmt::format("buffer {}: latency {} + {} / ({:.4g} GB/s)", format_bytes(bytes),
                            format_seconds(cost.latency_s), format_bytes(cost.bytes_sent), cost.bytes_per_s / kGB);
  if (group.shape.ranks_per_domain > 1) {
    out.inputs = {input(link.name + " bandwidth, bytes/s", link.bandwidth),
                  input(link.name + " efficiency", link.efficiency_for(group.shape.ranks_per_domain)),
                  input(link.name + " latency per step, s", link.latency_s)};
  }
  if (cost.algorithm == "in-switch") {
    out.inputs.push_back(input(link.name + " in-switch efficiency", link.in_switch_reduction->efficiency));
  }
  const LinkSpec& base = cost.on_network ? hardware_.network : link;
  if (cost.on_network) {
    out.inputs.push_back(input(base.name + " bandwidth of a port, bytes/s", base.bandwidth));
    out.inputs.push_back(input(base.name + " efficiency", base.efficiency_for(group.shape.nodes)));
    out.inputs.push_back(input(base.name + " latency per step, s", base.latency_s));
  }
  out.inputs.push_back(input(base.name + " base latency, s", base.base_latency_s));
  return out;
}

Explanation CollectiveModel::explain_send(double bytes, bool same_domain, bool crosses_leaves) const {
  const CommunicationCost cost = price_send(bytes, same_domain, crosses_leaves);
  const LinkSpec& link = same_domain ? hardware_.scale_up : hardware_.network;
  Explanation out;
  out.formula = fmt::format("send over {}: latency + bytes / bandwidth", link.name);
  out.numbers = fmt::format("{}: latency {} + transfer at {:.4g} GB/s", format_bytes(bytes),
                            format_seconds(cost.latency_s), cost.bytes_per_s / kGB);
  out.inputs = {input(link.name + " bandwidth, bytes/s", link.bandwidth),
                input(link.name + " send efficiency", link.send_efficiency),
                input(link.name + " send latency, s", link.send_latency_s)};
  return out;
}

}  // namespace mirfak
