#pragma once

#include "cluster/cluster.hpp"
#include "network/network_graph.hpp"

#include <filesystem>
#include <string>

namespace mirfak {

// Reads a description of a network, of whichever kind: .xml NCCL's topology, .conf Slurm's topology.conf; YAML or JSON
// by its keys: Slurm's topology.yaml, InfraGraph, mirfak's own. `topology`: which of several in a topology.yaml.
// `asked_at`: of what names the file, for errors of finding it.
NetworkGraph read_network_file(const std::filesystem::path& path, const std::string& topology = {},
                               const Location& asked_at = {});

// The cluster with its files read: the insides of its nodes (NodeSpec::topology, node_topology.hpp) and its fabric's
// (Fabric::graph, leaf_of_node); without such files the same cluster. Error(input) where a file cannot be what it
// stands for: another number of devices, parts that no link joins;
// Error(infeasible) where a torus or dragonfly is too small for the nodes.
Cluster with_network_files(const Cluster& cluster);

}  // namespace mirfak
