#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// A link between two switches, one way.
struct FabricLink {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double bytes_per_s = 0;
  std::uint32_t count = 1;  // links that are taken together
};

// The switches of a fabric and the links between them: what messages cross between the ports of nodes.
struct FabricGraph {
  std::vector<std::string> switches;   // their names
  std::vector<FabricLink> links;       // by the switch they leave, then by the other: see sort_links()
  std::vector<std::uint32_t> first;    // those of switch s are links[first[s]] to links[first[s + 1] - 1]
  std::vector<std::int32_t> attached;  // of each device, the switch that its own ports are on; -1: none
  // Of each device, the first one of its node, where nodes hand a message to the port that is on the receiver's switch
  // (NCCL's PXN, over the links inside); else empty.
  std::vector<std::int32_t> hands_on;

  std::span<const FabricLink> leaving(std::uint32_t at) const {
    return {links.data() + first[at], links.data() + first[at + 1]};
  }
  // The switches that a message enters and leaves by; -1: the device is on none.
  std::pair<std::int32_t, std::int32_t> ends(int from, int to) const;
  // Orders the links and fills `first`.
  void sort_links();
};

}  // namespace mirfak
