#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// Link between two switches, in one direction.
struct FabricLink {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double bytes_per_s = 0;
  std::uint32_t count = 1;  // number of links that are merged
};

// Switches of a fabric and the links between them, which messages cross between the ports of nodes.
struct FabricGraph {
  std::vector<std::string> switches;   // names of the switches
  std::vector<FabricLink> links;       // ordered by source switch, then by target switch: see sort_links()
  std::vector<std::uint32_t> first;    // the links that leave switch s are links[first[s]] to links[first[s + 1] - 1]
  std::vector<std::int32_t> attached;  // switch of each device's own ports; -1: none
  // First device of each device's node, if nodes hand a message over their inside links to the port that is on the
  // receiver's switch (NCCL's PXN); otherwise empty.
  std::vector<std::int32_t> hands_on;

  std::span<const FabricLink> leaving(std::uint32_t at) const {
    return {links.data() + first[at], links.data() + first[at + 1]};
  }
  // Returns the switches at which a message enters and leaves; -1: the device is on no switch.
  std::pair<std::int32_t, std::int32_t> ends(int from, int to) const;
  // Orders the links and fills `first`.
  void sort_links();
};

}  // namespace mirfak
