#include "plan/candidate_clusters.hpp"

#include <algorithm>
#include <numeric>

namespace mirfak {

namespace {

// Returns the numbers of nodes of a type to try.
std::vector<int> counts_of(int max, const SearchSpec& spec) {
  if (!spec.any_count) return {max};
  std::vector<int> counts = {0};
  if (spec.node_counts.empty()) {
    for (int count = 1; count < max; count *= 2) counts.push_back(count);
  } else {
    std::copy_if(spec.node_counts.begin(), spec.node_counts.end(), std::back_inserter(counts),
                 [&](int count) { return count < max; });
  }
  counts.push_back(max);
  return counts;
}

constexpr std::size_t kPercent = 100;
constexpr std::size_t kLowestPercent = 40;  // far below where any GPU needs least energy

Cluster at_clock(const Cluster& cluster, double share) {
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : cluster.groups()) {
    NodeHardware& hardware = nodes.emplace_back(group).hardware;
    const double clock_hz = hardware.gpu.settable_clock_hz(share);
    if (clock_hz < hardware.clock_limit() * hardware.gpu.clock_max_hz.value) hardware.spec.clock_hz = clock_hz;
  }
  return {std::move(nodes), cluster.fabric(), {}, cluster.facility()};
}

}  // namespace

std::vector<Cluster> clock_choices(const Cluster& cluster, const SearchSpec& spec) {
  std::vector<Cluster> out = {cluster};
  if (spec.power_cap_w == 0) return out;
  for (std::size_t number = 1; number <= kPercent - kLowestPercent; ++number) {
    out.push_back(at_clock(cluster, clock_share(number)));
  }
  return out;
}

double clock_share(std::size_t number) { return static_cast<double>(kPercent - number) / kPercent; }

std::vector<std::shared_ptr<const Cluster>> in_every_order(const Cluster& cluster, const NodeCounts& counts) {
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) used.push_back(i);
  }
  std::vector<std::shared_ptr<const Cluster>> out;
  do {
    std::vector<NodeAllotment> nodes;
    for (const std::size_t i : used) {
      NodeAllotment& allotment = nodes.emplace_back(cluster.groups()[i]);
      allotment.count = counts[i];
    }
    out.push_back(
        std::make_shared<const Cluster>(std::move(nodes), cluster.fabric(), Perturbations{}, cluster.facility()));
    // GPUs stay in their node.
  } while (!cluster.mixes_gpus() && std::next_permutation(used.begin(), used.end()));
  return out;
}

std::vector<std::int64_t> gpus_of_types(const Cluster& cluster) {
  std::vector<std::int64_t> out;
  for (const NodeGroup& group : cluster.groups()) out.emplace_back(group.gpus());
  return out;
}

int types_of(const NodeCounts& counts) {
  return static_cast<int>(std::count_if(counts.begin(), counts.end(), [](int count) { return count > 0; }));
}

std::vector<NodeCounts> node_choices(const Cluster& cluster, const SearchSpec& spec) {
  std::vector<NodeCounts> choices = {{}};
  for (const NodeGroup& group : cluster.groups()) {
    std::vector<NodeCounts> longer;
    for (const NodeCounts& choice : choices) {
      const bool none = std::all_of(choice.begin(), choice.end(), [](int count) { return count == 0; });
      const bool first = none || group.nodes() == 0;  // another kind of GPU of the same node
      for (const int count : counts_of(group.count, spec)) {
        if (!spec.mixed && !first && count > 0) continue;
        longer.push_back(choice);
        longer.back().push_back(count);
      }
    }
    choices = std::move(longer);
  }
  std::erase_if(choices, [](const NodeCounts& choice) {
    return std::all_of(choice.begin(), choice.end(), [](int count) { return count == 0; });
  });
  return choices;
}

std::optional<Cluster> spread_over_stages(const Cluster& cluster, int stages) {
  const auto groups = cluster.groups();
  const auto divides = [&](const NodeGroup& group) { return group.count % stages == 0; };
  if (groups.size() == 1 || stages == 1 || !std::all_of(groups.begin(), groups.end(), divides)) return std::nullopt;
  std::vector<NodeAllotment> nodes;
  for (int stage = 0; stage < stages; ++stage) {
    for (const NodeGroup& group : groups) nodes.emplace_back(group).count = group.count / stages;
  }
  return Cluster(std::move(nodes), cluster.fabric(), {}, cluster.facility());
}

}  // namespace mirfak
