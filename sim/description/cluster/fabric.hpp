#pragma once

#include "base/document.hpp"
#include "cluster/hardware.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mirfak {

// Graph that a file describes: network/network_graph.hpp.
struct NetworkGraph;

// Way in which the network ports of the nodes are joined.
enum class FabricType {
  full_bisection,  // one switch that never blocks messages
  rail_optimized,  // port i of every node on leaf i of its pod; leaves joined by spines
  fat_tree,        // all ports of a node on one leaf; leaves joined by spines
  rail_only,       // rail-optimized, but spines join only leaves of the same rail
  dragonfly,       // groups of routers, each joined to every other; groups joined by global links
  dragonfly_plus,  // groups of leaves and spines, each leaf joined to every spine; global links between spines
  torus_2d,        // a router for each node, joined to the next in both directions of each dimension
  torus_3d,
  file,  // graph that a file describes
};
// Returns names in the order of the enumeration, without `file`, which scenarios choose by the key of this name.
const std::vector<std::string>& fabric_names();

// Choice among several equally short paths of a message between switches.
enum class Routing {
  spread,  // all paths, in proportion to their bandwidth: adaptive routing, packet spraying
  hashed,  // one path, by a hash of the message's ends (ECMP): messages may collide while other links are idle
};
const std::vector<std::string>& routing_names();  // ordered as the enumeration

// Level of switches below the topmost level, which joins everything. A block of level 0 is a leaf (with rails: the
// leaves of one pod); a block of level l consists of several blocks of level l - 1 and the switches that join them.
struct FabricLevel {
  int ports = 0;                // ports of a switch towards the level below; 0: as many as `gpus` needs
  int gpus = 0;                 // GPUs of a block; 0: as many as `ports` take
  double oversubscription = 1;  // bandwidth of a switch downwards over upwards, >= 1
  int uplinks = 0;              // uplinks of a switch; 0: as many as it has links downwards

  friend bool operator==(const FabricLevel&, const FabricLevel&) = default;
};

struct Fabric {
  FabricType type = FabricType::rail_optimized;
  double oversubscription = 1;      // product over all levels; for a dragonfly its global links, for a torus its links
  int leaf_ports = 32;              // ports of a leaf, or of a router, towards nodes
  int uplinks = 0;                  // uplinks of a leaf; 0: as many as it has links to nodes
  std::vector<FabricLevel> levels;  // from the leaves up; empty: one level of leaf_ports, oversubscription, uplinks
  bool in_network_reduction = false;  // the network's switches reduce data (SHARP), and NCCL is set to use this
  Figure switch_latency_s;            // latency of each switch after the first on a route
  Routing routing = Routing::spread;
  std::uint64_t routing_seed = 1;  // seed of the hash

  // Dragonfly; 0 stands for a balanced number (network/dragonfly.cpp).
  int group_routers = 16;       // routers of a group; in dragonfly+ the leaves of a group
  int group_spines = 0;         // spines of a group in dragonfly+
  int global_links = 0;         // links of a router (in dragonfly+ of a spine) to other groups
  std::vector<int> dimensions;  // torus: sizes in routers; the first varies fastest over nodes; empty: nearly equal

  Location where;  // place in the scenario; for a file, the key that names it

  // FabricType::file
  std::string file;      // absolute, or as the scenario writes it
  std::string topology;  // chosen topology if the file has several (Slurm's topology.yaml); empty: its default
  std::shared_ptr<const NetworkGraph> graph;             // set by network/fabric_file.hpp
  std::shared_ptr<const std::vector<int>> leaf_of_node;  // first switch of each node, set there too

  // Returns `levels`, or the one level that leaf_ports, oversubscription and uplinks state.
  std::vector<FabricLevel> stated_levels() const;
  std::string title() const;  // "rail-optimized", "racks.yaml"
};
Fabric default_fabric();

// Reads `fabric` of a scenario's cluster: {type, oversubscription, leaf_ports, uplinks, levels, in_network_reduction,
// switch_latency_s, routing, routing_seed, group_routers, group_spines, global_links, dimensions} or {file, topology,
// oversubscription, ...}. Strict: keys that do not apply to the type are refused. A file is not opened.
Fabric read_fabric(const Node& section);
std::string fabric_yaml(const Fabric& fabric);  // one line that read_fabric() reads as this fabric

// Returns the number of nodes like `spec` in the smallest blocks between which links are oversubscribed; if no links
// are, the number of nodes on one leaf. Fabric::oversubscription applies to a message between two such blocks. At least
// 1; 1 for a full-bisection fabric and for a fabric whose leaves differ.
int nodes_per_leaf(const Fabric& fabric, const NodeSpec& spec);

}  // namespace mirfak
