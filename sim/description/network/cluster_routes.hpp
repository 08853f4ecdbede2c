#pragma once

#include "network/fabric_graph.hpp"
#include "network/routes.hpp"
#include "network/topology.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Returns the switches of a cluster's topology and the links between them.
FabricGraph fabric_graph(const Cluster& cluster, const Topology& topology);

// Returns the color of each switch of the graph under color refinement (network/symmetry.hpp), which keeps every switch
// with devices apart from all others. Routes::spread() merges switches of one color.
std::vector<std::uint32_t> switch_colours(const FabricGraph& graph, const Topology& topology);

// True if links between a fabric's switches may have less bandwidth than nodes send: if the links are oversubscribed,
// if the paths of messages are not those of a tree, or if hashing may put several messages on one link.
bool may_be_short(const Fabric& fabric);

// Returns the routes of a cluster whose messages may have to share links between switches; null: the links have room
// for all that the nodes' ports send at once. Each thread remembers the routes of the cluster last asked for.
Routes* routes_of(const Cluster& cluster);
// Returns the routes of any cluster, never null. The result of both functions is valid until one of them is called for
// another cluster.
Routes* all_routes_of(const Cluster& cluster);

// Names the kinds of links between a cluster's switches: by the kinds of the two switches if these differ ("leaf to
// spine"), otherwise by the kind of the link.
class FabricKinds {
 public:
  explicit FabricKinds(const Cluster& cluster) : topology_(cluster) {}
  std::string of(const RoutedLink& link) const;

 private:
  Topology topology_;
};

}  // namespace mirfak
