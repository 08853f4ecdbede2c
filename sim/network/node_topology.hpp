#pragma once

#include "cluster/cluster.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Node types with a topology of their own (NodeSpec::topology): reads the files, each once, and puts what they say in
// place of what the profiles say: the links between GPUs, PCI Express, network ports. Efficiencies and latencies stay
// those of the link profiles. Error(input) at the place in the file where it cannot be the inside of such a node.
std::vector<NodeAllotment> with_node_topologies(std::vector<NodeAllotment> nodes);

// What was taken from where, what has no effect, and what is unequal, for each node type with a topology of its own.
std::vector<std::string> topology_notes(const Cluster& cluster);

}  // namespace mirfak
