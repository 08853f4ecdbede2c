#include "network/fabric_graph.hpp"

#include <algorithm>

namespace mirfak {

void FabricGraph::sort_links() {
  std::stable_sort(links.begin(), links.end(), [](const FabricLink& a, const FabricLink& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  first.assign(switches.size() + 1, 0);
  for (const FabricLink& link : links) ++first[link.from + 1];
  for (std::size_t at = 0; at < switches.size(); ++at) first[at + 1] += first[at];
}

std::pair<std::int32_t, std::int32_t> FabricGraph::ends(int from, int to) const {
  const auto at = [](const std::vector<std::int32_t>& of, int device) { return of[static_cast<std::size_t>(device)]; };
  const std::int32_t arrives = at(attached, to);
  if (hands_on.empty() || at(attached, from) == arrives) return {at(attached, from), arrives};
  const int sender = at(hands_on, from) + (to - at(hands_on, to));
  const bool same_node = sender < static_cast<int>(hands_on.size()) && at(hands_on, sender) == at(hands_on, from);
  return {at(attached, same_node ? sender : from), arrives};
}

}  // namespace mirfak
