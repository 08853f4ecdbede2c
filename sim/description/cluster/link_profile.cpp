#include "cluster/profiles.hpp"

#include <charconv>

namespace mirfak {

namespace {

constexpr double kMinShare = 0.005;
constexpr double kMaxLatency = 0.1;  // seconds
constexpr double kMaxSettlingBytes = 1e10;
constexpr double kMaxSpread = 3;  // of a logarithm: hosts that differ by a factor of 20 are not of one kind

std::map<int, Figure> read_groups(ProfileFile& file, const Node& section, double most) {
  Mapping groups(section);
  std::map<int, Figure> efficiency;
  for (const std::string& key : groups.keys()) {
    const Node node = groups.require(key);
    int ranks = 0;
    const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), ranks);
    if (error != std::errc() || stop != key.data() + key.size() || ranks < 2 || ranks > 1'000'000) {
      node.fail("expected a number of ranks of at least 2 as key");
    }
    efficiency.emplace(ranks, file.figure_at(node, kMinShare, most));
  }
  return efficiency;
}

FitQuality read_quality_if_fitted(Mapping& mapping) {
  return mapping.has("measurements") ? read_fit_quality(mapping) : FitQuality{};
}

InSwitchReduction read_in_switch_reduction(ProfileFile& file, const Node& section) {
  Mapping mapping(section);
  InSwitchReduction reduction;
  reduction.minimum_ranks = static_cast<int>(mapping.require("minimum_ranks").as_integer(2, 1000));
  Mapping fit(mapping.require("fit"));
  reduction.base_s = file.figure(fit, "base_s", 0, kMaxLatency);
  reduction.efficiency = file.figure(fit, "efficiency", kMinShare, 1);
  reduction.settling_s = file.figure(fit, "settling_s", 0, kMaxLatency);
  reduction.settling_bytes = file.figure(fit, "settling_bytes", 1, kMaxSettlingBytes);
  reduction.quality = read_quality_if_fitted(fit);
  fit.finish();
  if (const std::optional<Node> larger = mapping.find("efficiency_of_ranks")) {
    reduction.efficiency_of_ranks = read_groups(file, *larger, 1);
  }
  reduction.tree_share = file.figure(mapping, "tree_share", kMinShare, 1);
  reduction.network_share = file.figure(mapping, "network_share", kMinShare, 1);
  mapping.finish();
  return reduction;
}

// Reads the protocols. Base and step of LL and the efficiency of Simple are fields of the link itself.
void read_protocols(ProfileFile& file, const Node& section, LinkSpec& link) {
  Mapping mapping(section);
  link.base_latency_s = file.figure(mapping, "ll_base_s", 0, kMaxLatency);
  link.latency_s = file.figure(mapping, "ll_step_s", 0, kMaxLatency);
  link.efficiency = file.figure(mapping, "simple_efficiency", kMinShare, 1);
  RingProtocols out;
  out.ll_efficiency = file.figure(mapping, "ll_efficiency", kMinShare, 1);
  // LL128 needs NVLink: a link through the host leaves it out, and NCCL does not choose it there.
  if (mapping.find("ll128_base_s")) {
    out.ll128_base_s = file.figure(mapping, "ll128_base_s", 0, kMaxLatency);
    out.ll128_step_s = file.figure(mapping, "ll128_step_s", 0, kMaxLatency);
    out.ll128_efficiency = file.figure(mapping, "ll128_efficiency", kMinShare, 1);
  }
  out.simple_base_s = file.figure(mapping, "simple_base_s", 0, kMaxLatency);
  out.simple_step_s = file.figure(mapping, "simple_step_s", 0, kMaxLatency);
  out.simple_overlap = file.figure(mapping, "simple_overlap", 1, 10);
  out.extra_steps = file.figure(mapping, "extra_steps", 0, 10);
  out.quality = read_quality_if_fitted(mapping);
  mapping.finish();
  link.protocols = out;
}

ExchangeFit read_exchange(ProfileFile& file, const Node& section) {
  Mapping mapping(section);
  ExchangeFit out;
  out.base_s = file.figure(mapping, "base_s", 0, kMaxLatency);
  out.peer_s = file.figure(mapping, "peer_s", 0, kMaxLatency);
  out.efficiency = file.figure(mapping, "efficiency", kMinShare, 1);
  out.extra_peers = file.figure(mapping, "extra_peers", 0, 10);
  out.settling_s = file.figure(mapping, "settling_s", 0, kMaxLatency);
  out.settling_bytes = file.figure(mapping, "settling_bytes", 1, kMaxSettlingBytes);
  out.short_base_s = file.figure(mapping, "short_base_s", 0, kMaxLatency);
  out.short_peer_s = file.figure(mapping, "short_peer_s", 0, kMaxLatency);
  out.short_efficiency = file.figure(mapping, "short_efficiency", 0.001, 1);
  out.quality = read_quality_if_fitted(mapping);
  mapping.finish();
  return out;
}

HostSpread read_spread(ProfileFile& file, const Node& section) {
  Mapping mapping(section);
  HostSpread out;
  out.below = file.figure(mapping, "below", 0, kMaxSpread);
  out.above = file.figure(mapping, "above", 0, kMaxSpread);
  mapping.finish();
  return out;
}

}  // namespace

LinkSpec read_link_profile(ProfileFile& file) {
  LinkSpec link;
  link.name = file.name();
  link.title = file.title();
  const Node joins = file.root().require("joins");
  for (const Node& end : joins.as_items()) link.joins.push_back(static_cast<LinkEnd>(end.as_choice(link_end_names())));
  if (link.joins.empty()) joins.fail("expected what the link joins: gpus, host or nodes");
  link.bandwidth = file.figure("bandwidth", 1e7, 1e13);
  if (const std::optional<Node> section = file.root().find("protocols")) {
    read_protocols(file, *section, link);
  } else {
    link.efficiency = file.figure("efficiency", kMinShare, 1);
    link.latency_s = file.figure("latency_s", 0, kMaxLatency);
    link.base_latency_s = file.figure("base_latency_s", 0, kMaxLatency);
  }
  if (const std::optional<Node> section = file.root().find("efficiency_of_ranks")) {
    link.efficiency_of_ranks = read_groups(file, *section, 1);
  }
  link.send_efficiency = file.figure("send_efficiency", kMinShare, 1);
  link.send_latency_s = file.figure("send_latency_s", 0, kMaxLatency);
  if (file.root().find("settling_s")) {
    link.settling_s = file.figure("settling_s", 0, kMaxLatency);
    link.settling_bytes = file.figure("settling_bytes", 1, kMaxSettlingBytes);
  }
  if (const std::optional<Node> section = file.root().find("exchange")) link.exchange = read_exchange(file, *section);
  if (const std::optional<Node> section = file.root().find("in_switch_reduction")) {
    link.in_switch_reduction = read_in_switch_reduction(file, *section);
  }
  link.measured_on = file.root().words("measured_on");
  if (const std::optional<Node> section = file.root().find("spread")) link.spread = read_spread(file, *section);
  file.finish();
  return link;
}

std::string link_ends_text(const LinkSpec& link) {
  std::string text;
  for (const LinkEnd end : link.joins) {
    text += (text.empty() ? "" : ", ") + link_end_names()[static_cast<std::size_t>(end)];
  }
  return text;
}

}  // namespace mirfak
