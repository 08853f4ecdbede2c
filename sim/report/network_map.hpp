#pragma once

#include "simulation/network_use.hpp"

#include <string>
#include <vector>

namespace mirfak {

// A network as a picture shows it, with what crosses it. Row 0 holds the devices, each row above the switches that are
// one link further away from them. Of a row up to sixteen boxes are told apart: the switches one by one, by their pods
// or groups, or by what they hang on.
struct NetworkMap {
  struct Box {
    int row = 0;
    int place = 0;            // in the row, from the left
    int count = 0;            // of devices or switches
    std::string what;         // "leaf", "GPU"
    std::string first, last;  // names
  };
  // All links from one box to another, or inside one.
  struct Wire {
    int from = 0;
    int to = 0;
    std::string kind;  // LinkKindUse::kind
    double links = 0;
    double bytes_per_s = 0;  // of all
    double bytes = 0;        // over all
    double mean_use = 0;
    double peak_use = 0;  // of one
    double binding_links = 0;
    double binds_s = 0;  // of the one that binds longest
  };
  std::vector<Box> boxes;  // by row, from the left
  std::vector<Wire> wires;
  int rows = 0;

  int boxes_in(int row) const;
};

// `use`: of the whole network.
NetworkMap network_map(const NetworkUse& use);

}  // namespace mirfak
