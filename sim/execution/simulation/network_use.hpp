#pragma once

#include "simulation/iteration.hpp"
#include "simulation/link_use.hpp"

#include <string>
#include <vector>

namespace mirfak {

// All links of one kind, such as "leaf to spine".
struct LinkKindUse {
  std::string kind;
  double links = 0;              // number on the cluster
  double least_bytes_per_s = 0;  // bandwidth of the narrowest link
  double most_bytes_per_s = 0;
  double bytes = 0;          // total of all links
  double mean_use = 0;       // bytes over the bytes that all links could have moved in the iteration
  double peak_use = 0;       // largest peak of one link
  double binding_links = 0;  // number of links that ever hold an activity back
  double binds_s = 0;        // longest binding time of one link
  double most_asked = 0;     // LinkUsage::most_asked of the link of which most is asked
  std::vector<std::string> asking;
  std::vector<SlowedCommunication> slowed;
};

// The network that the ranks of a program use, and the places of the ranks on it.
struct NetworkPlaces {
  Cluster network;
  std::vector<double> port_share;         // by rank, bytes/s each way
  std::vector<std::vector<int>> devices;  // by rank: devices of all ranks that it stands for
};
NetworkPlaces network_places(const Simulation& simulation);

// Use of a network's links by communication, and the links that bind.
struct NetworkUse {
  Program program;  // program with the links of `links`
  NetworkPlaces places;
  Picoseconds from = 0;  // stretch of time of the figures: from, to
  Picoseconds to = 0;
  LinkOwners owners;
  std::vector<LinkUsage> links;           // by LinkId
  std::vector<LinkKindUse> kinds;         // in the order from ranks to the top of the network
  std::vector<std::string> kind_of_link;  // by LinkId; several kinds are joined by "and"
  std::vector<double> count;              // by LinkId: number of links of the cluster that it stands for
  std::vector<LinkId> binding;            // by the time that they add, largest first
  double slowed_s = 0;  // time that all links add to all communication, summed over groups of the cluster

  bool binds() const { return !binding.empty(); }
};

// Computes the use of the links of a program. `whole`: the program has all links of the network, and links that no
// traffic crosses count too.
NetworkUse network_use(Program program, const Timeline& timeline, NetworkPlaces places, LinkScope scope, bool whole);
// Returns the use of the links that can be short.
NetworkUse network_use(const Simulation& simulation);
// Returns the use of all links of the network; the same links bind. `options`: the options of the simulation.
NetworkUse whole_network_use(const Simulation& simulation, LoweringOptions options);

// Returns the time of the iteration if no link were ever short.
double unbound_iteration_s(const Simulation& simulation);

// True if links of a cluster's network may be short of the bandwidth that a job asks, so that some of them may bind.
bool links_may_bind(const Simulation& simulation);

inline constexpr const char* kPortsOut = "port to network";
inline constexpr const char* kPortsIn = "network to port";

}  // namespace mirfak
