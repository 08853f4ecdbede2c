#pragma once

#include "base/document.hpp"
#include "network/network_graph.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// What a Slurm cluster's topology.conf or topology.yaml says of where nodes are.
struct SlurmSwitch {
  std::string name;
  std::vector<std::string> children;  // switches
  std::vector<std::string> nodes;
  Location where;
};

struct SlurmTopology {
  std::string name;  // of topology.yaml; "" for a .conf
  enum class Kind { tree, block, flat } kind = Kind::tree;
  bool is_default = false;
  std::vector<SlurmSwitch> switches;  // or blocks
  std::vector<int> block_sizes;       // nodes, ascending
  Location where;
};

// topology.conf: lines of `SwitchName=` or `BlockName=` with names as host lists, `BlockSizes=`, `Include FILE`; keys
// in any case, '#' begins a comment, '\' at the end of a line continues it. Error(input) for anything else, a second
// switch of a name, a circle of includes.
SlurmTopology read_slurm_conf(const std::filesystem::path& path);
SlurmTopology parse_slurm_conf(std::string_view text, const std::string& name);  // an Include is refused

bool is_slurm_yaml(const Document& document);
std::vector<SlurmTopology> read_slurm_yaml(const Document& document);
// The one of this name; of "" the first that is the cluster's default, or the first.
const SlurmTopology& chosen_topology(const std::vector<SlurmTopology>& topologies, const std::string& name,
                                     const Location& asked_at);

// The tree as a graph: devices are the nodes, in the order of a walk from the first switch that is nobody's child, so
// that those below one switch follow one another. Blocks: a leaf for each, joined in aggregates of the sizes that
// BlockSizes lists, and these by one switch. Links lead upwards (from a to b) and have no rates. Error(input) for a
// child that is no switch, a switch with two parents, a circle, a node in two places.
NetworkGraph graph_of(const SlurmTopology& topology, const std::string& title);

}  // namespace mirfak
