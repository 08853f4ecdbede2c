#pragma once

#include "network/topology.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// The most bytes/s that the devices of `from` can send to those of `to` together, over all ways, line rates: the
// maximum flow (push-relabel of Boost.Graph). Vertices that are alike with respect to both groups are one, and so are
// the links between two classes: by the symmetry of an equitable partition that changes nothing (a flow shared evenly
// among alike links keeps every balance). Infinite where links without a stated rate would carry it. Groups share no
// device.
double most_between(const Topology& topology, std::span<const int> from, std::span<const int> to);

struct Bisection {
  double bandwidth = 0;
  std::string cut;  // which halves: "devices 0 to 127 and 128 to 255"
};
// The least of most_between() over balanced halves: those of the devices in order (which in fat trees, dragonflies and
// rails part pods or groups, the narrowest cut), and on a torus those along each dimension. Other halves are not tried.
// At least two devices.
Bisection bisection_of(const Topology& topology, const Cluster* cluster);

struct Diameter {
  int hops = 0;          // links between the devices furthest apart
  double latency_s = 0;  // the most of a route of fewest links
  int sources = 0;       // devices that were started from: one of each class of alike ones, at most 256
  int devices = 0;
  bool unreachable = false;  // some device is not reached
};
Diameter diameter_of(const Topology& topology);
int hops_between(const Topology& topology, int from, int to);  // -1: no way

// Devices by words: "device:0-7,12", "node:3", "domain:0", "pod:1", "group:1", "rail:2", or the beginning of names in a
// file ("host.0"). Error(input) for words that name none; `option` for the message.
std::vector<int> named_devices(const Topology& topology, const Cluster* cluster, const std::string& words,
                               const std::string& option);

}  // namespace mirfak
