#include "cluster/profiles.hpp"

#include <charconv>

namespace mirfak {

namespace {

constexpr double kLeastShare = 0.005;

std::map<int, Figure> read_small_groups(ProfileFile& file, const Node& section) {
  Mapping groups(section);
  std::map<int, Figure> efficiency;
  for (const std::string& key : groups.keys()) {
    const Node node = groups.require(key);
    int ranks = 0;
    const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), ranks);
    if (error != std::errc() || stop != key.data() + key.size() || ranks < 2 || ranks > 1'000'000) {
      node.fail("expected a number of ranks of at least 2 as key");
    }
    efficiency.emplace(ranks, file.figure_at(node, kLeastShare, 1));
  }
  return efficiency;
}

InSwitchReduction read_in_switch_reduction(ProfileFile& file, const Node& section) {
  Mapping mapping(section);
  InSwitchReduction reduction;
  // Bus bandwidth counts the bytes a ring would move, twice what the switch lets through.
  reduction.efficiency = file.figure(mapping, "efficiency", kLeastShare, 2);
  reduction.minimum_ranks = static_cast<int>(mapping.require("minimum_ranks").as_integer(2, 1000));
  mapping.finish();
  return reduction;
}

}  // namespace

LinkSpec read_link_profile(ProfileFile& file) {
  LinkSpec link;
  link.name = file.name();
  link.title = file.title();
  link.bandwidth = file.figure("bandwidth", 1e7, 1e13);
  link.efficiency = file.figure("efficiency", kLeastShare, 1);
  if (const std::optional<Node> section = file.root().find("efficiency_of_ranks")) {
    link.efficiency_of_ranks = read_small_groups(file, *section);
  }
  link.send_efficiency = file.figure("send_efficiency", kLeastShare, 1);
  link.latency_s = file.figure("latency_s", 0, 0.1);
  link.base_latency_s = file.figure("base_latency_s", 0, 0.1);
  link.send_latency_s = file.figure("send_latency_s", 0, 0.1);
  if (const std::optional<Node> section = file.root().find("in_switch_reduction")) {
    link.in_switch_reduction = read_in_switch_reduction(file, *section);
  }
  file.finish();
  return link;
}

}  // namespace mirfak
