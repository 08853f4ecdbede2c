#pragma once

#include "network/fabric_graph.hpp"
#include "network/routes.hpp"
#include "network/topology.hpp"

namespace mirfak {

// The switches of a cluster's topology.
FabricGraph fabric_graph(const Cluster& cluster, const Topology& topology);

// The routes of a cluster whose links between switches messages may have to share; null: they have room for all that the
// nodes' ports send at once. Remembered for the cluster last asked for, by each thread.
Routes* routes_of(const Cluster& cluster);

}  // namespace mirfak
