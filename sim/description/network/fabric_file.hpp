#pragma once

#include "cluster/cluster.hpp"
#include "network/network_graph.hpp"

#include <filesystem>
#include <string>

namespace mirfak {

// Reads a network description of any format: .xml is NCCL's topology, .conf is Slurm's topology.conf; YAML and JSON are
// recognized by their keys: Slurm's topology.yaml, InfraGraph, mirfak's own. `topology` chooses one of several
// topologies in a topology.yaml. `asked_at` is the place that names the file, for errors if the file is not found.
NetworkGraph read_network_file(const std::filesystem::path& path, const std::string& topology = {},
                               const Location& asked_at = {});

// Returns the cluster with its files read: the insides of its nodes (NodeSpec::topology, node_topology.hpp) and the
// graph of its fabric (Fabric::graph, leaf_of_node). A cluster without such files is returned unchanged. Error(input)
// if a file does not match the cluster: another number of devices, or parts that no link joins. Error(infeasible) if a
// torus or dragonfly is too small for the nodes.
Cluster with_network_files(const Cluster& cluster);

}  // namespace mirfak
