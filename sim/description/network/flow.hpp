#pragma once

#include "network/topology.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Returns the most bytes/s that the devices of `from` can send to the devices of `to` together, over all paths and at
// line rates: the maximum flow (push-relabel of Boost.Graph). Vertices that are alike with respect to both groups are
// merged, and so are the links between two classes. This equitable partition does not change the result: a flow that is
// shared evenly among alike links stays balanced. Infinite if links without a stated rate would carry the flow. The
// groups must not share a device.
double most_between(const Topology& topology, std::span<const int> from, std::span<const int> to);

struct Bisection {
  double bandwidth = 0;
  std::string cut;  // the two halves: "devices 0 to 127 and 128 to 255"
};
// Returns the least most_between() over balanced halves: the halves of the devices in order (which separate pods or
// groups of fat trees, dragonflies and rails, the narrowest cut), and on a torus also the halves along each dimension.
// Other halves are not tried. Needs at least two devices.
Bisection bisection_of(const Topology& topology, const Cluster* cluster);

struct Diameter {
  int hops = 0;          // links between the devices furthest apart
  double latency_s = 0;  // largest latency among routes of `hops` links
  int sources = 0;       // devices that routes were started from: one of each class of alike devices, at most 256
  int devices = 0;
  bool unreachable = false;  // some device cannot be reached
};
Diameter diameter_of(const Topology& topology);
int hops_between(const Topology& topology, int from, int to);  // -1: no path

// Returns the devices that `words` name: "device:0-7,12", "node:3", "domain:0", "pod:1", "group:1", "rail:2", or the
// beginning of names in a file ("host.0"). Error(input) for words that name no device; `option` is used in the message.
std::vector<int> named_devices(const Topology& topology, const Cluster* cluster, const std::string& words,
                               const std::string& option);

}  // namespace mirfak
