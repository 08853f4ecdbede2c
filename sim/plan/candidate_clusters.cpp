#include "plan/candidate_clusters.hpp"

#include <algorithm>
#include <numeric>

namespace mirfak {

namespace {

// How many nodes of a type to try.
std::vector<int> counts_of(int most, const SearchSpec& spec) {
  if (!spec.any_count) return {most};
  std::vector<int> counts = {0};
  if (spec.node_counts.empty()) {
    for (int count = 1; count < most; count *= 2) counts.push_back(count);
  } else {
    std::copy_if(spec.node_counts.begin(), spec.node_counts.end(), std::back_inserter(counts),
                 [&](int count) { return count < most; });
  }
  counts.push_back(most);
  return counts;
}

std::vector<Cluster> in_every_order(const Cluster& cluster, const std::vector<int>& counts) {
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) used.push_back(i);
  }
  std::vector<Cluster> out;
  if (used.empty()) return out;
  do {
    std::vector<NodeAllotment> nodes;
    for (const std::size_t i : used) {
      NodeAllotment& allotment = nodes.emplace_back(cluster.groups()[i]);
      allotment.count = counts[i];
    }
    out.emplace_back(std::move(nodes), cluster.fabric());
  } while (std::next_permutation(used.begin(), used.end()));
  return out;
}

}  // namespace

std::vector<Cluster> candidate_clusters(const Cluster& cluster, const SearchSpec& spec) {
  std::vector<std::vector<int>> choices = {{}};
  for (const NodeGroup& group : cluster.groups()) {
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& choice : choices) {
      const bool first = std::all_of(choice.begin(), choice.end(), [](int count) { return count == 0; });
      for (const int count : counts_of(group.count, spec)) {
        if (!spec.mixed && !first && count > 0) continue;
        longer.push_back(choice);
        longer.back().push_back(count);
      }
    }
    choices = std::move(longer);
  }
  std::vector<Cluster> out;
  for (const std::vector<int>& choice : choices) {
    const std::vector<Cluster> ordered = in_every_order(cluster, choice);
    out.insert(out.end(), ordered.begin(), ordered.end());
  }
  return out;
}

}  // namespace mirfak
