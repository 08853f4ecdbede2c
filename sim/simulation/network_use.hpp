#pragma once

#include "simulation/iteration.hpp"
#include "simulation/link_use.hpp"

#include <string>
#include <vector>

namespace mirfak {

// All links of one kind, such as "leaf to spine".
struct LinkKindUse {
  std::string kind;
  double links = 0;              // on the cluster
  double least_bytes_per_s = 0;  // of one of these, the narrowest and the widest
  double most_bytes_per_s = 0;
  double bytes = 0;          // over all
  double mean_use = 0;       // bytes, of what all could have moved in the iteration
  double peak_use = 0;       // of one
  double binding_links = 0;  // those that ever hold something back
  double binds_s = 0;        // of the one that does longest
  double most_asked = 0;     // LinkUsage, of the one of which most is asked
  std::vector<std::string> asking;
  std::vector<SlowedCommunication> slowed;
};

// The network that the ranks of a program use, and where on it they are.
struct NetworkPlaces {
  Cluster network;
  std::vector<double> port_share;         // of each rank, bytes/s each way
  std::vector<std::vector<int>> devices;  // of each rank: of all that it stands for
};
NetworkPlaces network_places(const Simulation& simulation);

// What communication takes of a network's links, and which of them bind.
struct NetworkUse {
  Program program;  // with the links that `links` are of
  NetworkPlaces places;
  Picoseconds from = 0;  // of which stretch of time the figures are
  Picoseconds to = 0;
  LinkOwners owners;
  std::vector<LinkUsage> links;           // by LinkId
  std::vector<LinkKindUse> kinds;         // in the order from ranks to the top of the network
  std::vector<std::string> kind_of_link;  // by LinkId; of several kinds alike, all, joined by "and"
  std::vector<double> count;              // by LinkId: how many links of the cluster it stands for
  std::vector<LinkId> binding;            // by what they add, the most first
  double slowed_s = 0;                    // what all links add to all communication, summed over groups of the cluster

  bool binds() const { return !binding.empty(); }
};

// `whole`: the program has all links of the network, and those that nothing crosses count too.
NetworkUse network_use(Program program, const Timeline& timeline, NetworkPlaces places, LinkScope scope, bool whole);
// Of the links that can be short.
NetworkUse network_use(const Simulation& simulation);
// Of all links: the same bind. `options`: with which it was simulated.
NetworkUse whole_network_use(const Simulation& simulation, LoweringOptions options);

// The iteration if no link were ever short.
double unbound_iteration_s(const Simulation& simulation);

// Whether links of a cluster's network may be short of what a job sends, so that it is a question which bind.
bool links_may_bind(const Simulation& simulation);

inline constexpr const char* kPortsOut = "port to network";
inline constexpr const char* kPortsIn = "network to port";

}  // namespace mirfak
