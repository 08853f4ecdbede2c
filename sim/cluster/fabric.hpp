#pragma once

#include "base/document.hpp"
#include "cluster/hardware.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mirfak {

// A graph that a file describes: network/network_graph.hpp.
struct NetworkGraph;

// How the network ports of the nodes are joined.
enum class FabricType {
  full_bisection,  // one switch that never blocks
  rail_optimized,  // port i of every node on leaf i of its pod; leaves joined by spines
  fat_tree,        // all ports of a node on one leaf; leaves joined by spines
  rail_only,       // as rail-optimized, but spines join only leaves of the same rail
  dragonfly,       // groups of routers, each with every other; groups joined by global links
  dragonfly_plus,  // groups of leaves and spines, each with every other; global links between spines
  torus_2d,        // a router for each node, joined to the next in both directions of each dimension
  torus_3d,
  file,  // a graph that a file describes
};
// In the order of the enumeration, without `file`, which is asked for by the key of this name.
const std::vector<std::string>& fabric_names();

// Which of several equally short paths between switches a message takes.
enum class Routing {
  spread,  // all of them, in proportion to their bandwidth: adaptive routing, packet spraying
  hashed,  // one, by a hash of its ends (ECMP): messages may collide where others leave links idle
};
const std::vector<std::string>& routing_names();  // in the order of the enumeration

// One level of switches below the topmost, which joins all. A block of level 0 is a leaf (with rails: the leaves of one
// pod), a block of level l so many of level l - 1 and the switches that join them.
struct FabricLevel {
  int ports = 0;                // of a switch towards what is below it; 0: as many as `gpus` needs
  int gpus = 0;                 // of a block; 0: as many as `ports` take
  double oversubscription = 1;  // bandwidth of its switches downwards over upwards, >= 1
  int uplinks = 0;              // of each of its switches; 0: as many as it has links downwards

  friend bool operator==(const FabricLevel&, const FabricLevel&) = default;
};

struct Fabric {
  FabricType type = FabricType::rail_optimized;
  double oversubscription = 1;        // of all levels together; of a dragonfly's global links, a torus' links
  int leaf_ports = 32;                // ports of a leaf, or of a router, towards nodes
  int uplinks = 0;                    // of a leaf; 0: as many as it has links to nodes
  std::vector<FabricLevel> levels;    // from the leaves up; empty: one, of leaf_ports, oversubscription, uplinks
  bool in_network_reduction = false;  // the network's switches add up (SHARP), and NCCL is set to let them
  Figure switch_latency_s;            // of each switch beyond the first on a route
  Routing routing = Routing::spread;
  std::uint64_t routing_seed = 1;  // of the hash

  // Dragonfly. 0: as many as is balanced (network/dragonfly.cpp says how many that are).
  int group_routers = 16;       // routers of a group; of dragonfly+ its leaves
  int group_spines = 0;         // dragonfly+ only
  int global_links = 0;         // of a router, of dragonfly+ of a spine, to other groups
  std::vector<int> dimensions;  // of a torus, in routers; the first varies fastest over the nodes; empty: nearly equal

  Location where;  // of what the scenario says of it, of a file the key that names it

  // FabricType::file
  std::string file;                           // absolute, or as the scenario writes it
  std::string topology;                       // of several in the file (Slurm's topology.yaml); empty: its default
  std::shared_ptr<const NetworkGraph> graph;  // set by network/fabric_file.hpp
  std::shared_ptr<const std::vector<int>> leaf_of_node;  // the same: the first switch behind each node

  // `levels`, or the one that leaf_ports, oversubscription and uplinks state.
  std::vector<FabricLevel> stated_levels() const;
  std::string title() const;  // "rail-optimized", "racks.yaml"
};
Fabric default_fabric();

// `fabric` of a scenario's cluster: {type, oversubscription, leaf_ports, uplinks, levels, in_network_reduction,
// switch_latency_s, routing, routing_seed, group_routers, group_spines, global_links, dimensions} or {file, topology,
// oversubscription, ...}. Strict: keys that the type has no use for are refused. A file is not opened.
Fabric read_fabric(const Node& section);
std::string fabric_yaml(const Fabric& fabric);  // what read_fabric() reads as this fabric, in one line

// Nodes in the smallest blocks of nodes like `spec`'s between which links are oversubscribed (where none are, on one
// leaf): Fabric::oversubscription is what a message between two such blocks meets. At least 1; of a full-bisection
// fabric, and of one whose leaves differ, 1.
int nodes_per_leaf(const Fabric& fabric, const NodeSpec& spec);

}  // namespace mirfak
