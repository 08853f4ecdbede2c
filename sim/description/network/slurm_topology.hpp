#pragma once

#include "base/document.hpp"
#include "network/network_graph.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// Switch (or block) of a Slurm cluster's topology.conf or topology.yaml, with the places of nodes.
struct SlurmSwitch {
  std::string name;
  std::vector<std::string> children;  // switches
  std::vector<std::string> nodes;
  Location where;
};

struct SlurmTopology {
  std::string name;  // name in topology.yaml; "" for a .conf
  enum class Kind { tree, block, flat } kind = Kind::tree;
  bool is_default = false;
  std::vector<SlurmSwitch> switches;  // switches or blocks
  std::vector<int> block_sizes;       // nodes, ascending
  Location where;
};

// Read a topology.conf: lines of `SwitchName=` or `BlockName=` with names as host lists, `BlockSizes=`, `Include FILE`.
// Keys may be in any case, '#' begins a comment, and '\' at the end of a line continues the line. Error(input) for
// anything else, for a second switch of the same name, and for a circle of includes.
SlurmTopology read_slurm_conf(const std::filesystem::path& path);
SlurmTopology parse_slurm_conf(std::string_view text, const std::string& name);  // refuses Include

bool is_slurm_yaml(const Document& document);
std::vector<SlurmTopology> read_slurm_yaml(const Document& document);
// Returns the topology with this name; for "", the first topology marked as the cluster's default, or else the first
// one.
const SlurmTopology& chosen_topology(const std::vector<SlurmTopology>& topologies, const std::string& name,
                                     const Location& asked_at);

// Returns the tree as a graph. Devices are the nodes, in the order of a walk from the first switch without a parent, so
// that the nodes below one switch are consecutive. A topology of blocks has a leaf for each block; leaves are joined in
// aggregates of the sizes that BlockSizes lists, and one switch joins the aggregates. Links lead upwards (from a to b)
// and have no rates. Error(input) for a child that is no switch, a switch with two parents, a circle, or a node in two
// places.
NetworkGraph graph_of(const SlurmTopology& topology, const std::string& title);

}  // namespace mirfak
