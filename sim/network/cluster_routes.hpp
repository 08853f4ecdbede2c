#pragma once

#include "network/fabric_graph.hpp"
#include "network/routes.hpp"
#include "network/topology.hpp"

#include <string>
#include <vector>

namespace mirfak {

// The switches of a cluster's topology.
FabricGraph fabric_graph(const Cluster& cluster, const Topology& topology);

// Of each switch of the graph, its colour under refinement (network/symmetry.hpp) that tells every switch with devices
// from every other: what `spread` routes take together.
std::vector<std::uint32_t> switch_colours(const FabricGraph& graph, const Topology& topology);

// Whether links between a fabric's switches may be short of what nodes send: where they are oversubscribed, where
// the paths of messages are not those of a tree, and where hashing may lead several over one link.
bool may_be_short(const Fabric& fabric);

// The routes of a cluster whose links between switches messages may have to share; null: they have room for all that
// the nodes' ports send at once. Remembered for the cluster last asked for, by each thread.
Routes* routes_of(const Cluster& cluster);
// The same of any fabric. Valid until either is called for another cluster.
Routes* all_routes_of(const Cluster& cluster);

// What kinds of links between a cluster's switches are called: by the kinds of their ends where these differ ("leaf to
// spine"), else by their own.
class FabricKinds {
 public:
  explicit FabricKinds(const Cluster& cluster) : topology_(cluster) {}
  std::string of(const RoutedLink& link) const;

 private:
  Topology topology_;
};

}  // namespace mirfak
