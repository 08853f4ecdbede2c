#pragma once

#include "simulation/network_use.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Map of a network for a picture, with the traffic that crosses it. Row 0 holds the devices; each row above holds the
// switches that are one link further away from devices. A row has up to sixteen boxes: its switches one by one, or
// grouped by their pods or groups, or by the box above them.
struct NetworkMap {
  struct Box {
    int row = 0;
    int place = 0;            // position in the row, from the left
    int count = 0;            // number of devices or switches
    std::string what;         // "leaf", "GPU"
    std::string first, last;  // names of the first and the last member
  };
  // All links of a kind from one box to another, or inside one box.
  struct Wire {
    int from = 0;
    int to = 0;
    std::string kind;  // LinkKindUse::kind
    double links = 0;
    double bytes_per_s = 0;  // sum over all links
    double bytes = 0;        // sum over all links
    double mean_use = 0;
    double peak_use = 0;  // highest use of one link
    double binding_links = 0;
    double binds_s = 0;  // seconds of the link that binds longest
  };
  std::vector<Box> boxes;  // by row, then from the left
  std::vector<Wire> wires;
  int rows = 0;

  int boxes_in(int row) const;
};

// Returns the map of a network. `use`: the use of the whole network.
NetworkMap network_map(const NetworkUse& use);

}  // namespace mirfak
