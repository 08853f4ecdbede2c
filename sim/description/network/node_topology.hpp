#pragma once

#include "cluster/cluster.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Returns node types whose topology files (NodeSpec::topology) have been read, each file once. The links between GPUs,
// PCI Express and network ports of a file replace those of the profiles; efficiencies and latencies stay those of the
// link profiles. Error(input) at the place in the file that cannot be part of such a node.
std::vector<NodeAllotment> with_node_topologies(std::vector<NodeAllotment> nodes);

// Returns notes for each node type with a topology file: the origin of figures, elements without effect, and
// inequalities.
std::vector<std::string> topology_notes(const Cluster& cluster);

}  // namespace mirfak
