#include "network/fabric_file.hpp"

#include "network/graph_file.hpp"
#include "network/infragraph.hpp"
#include "network/nccl_xml.hpp"
#include "network/node_topology.hpp"
#include "network/slurm_topology.hpp"
#include "network/text_file.hpp"
#include "network/topology.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

// Returns the first switch of the fabric that each node reaches by its first device.
std::vector<int> leaves_of(const Topology& topology, const Cluster& cluster) {
  std::vector<int> out(static_cast<std::size_t>(cluster.nodes()), 0);
  for (const NodeGroup& group : cluster.groups()) {
    for (int i = 0; i < group.nodes(); ++i) {
      const auto ways = topology.attachments(group.first_device + i * group.hardware.spec.gpus);
      out[static_cast<std::size_t>(group.first_node + i)] = ways.empty() ? -1 : ways.front().entry;
    }
  }
  return out;
}

// True for fabrics that may be too small for their nodes.
bool has_shape(FabricType type) {
  return type == FabricType::dragonfly || type == FabricType::dragonfly_plus || type == FabricType::torus_2d ||
         type == FabricType::torus_3d;
}

}  // namespace

NetworkGraph read_network_file(const std::filesystem::path& path, const std::string& topology,
                               const Location& asked_at) {
  const std::string extension = path.extension().string();
  const std::string text = text_of_file(path, asked_at);
  const std::string title = path.filename().string();
  if (extension == ".xml") return read_nccl_topology(text, path.string());
  if (extension == ".conf") return graph_of(read_slurm_conf(path), title);
  const Document document = Document::from_text(text, path.string());
  if (is_slurm_yaml(document)) {
    const std::vector<SlurmTopology> all = read_slurm_yaml(document);
    return graph_of(chosen_topology(all, topology, asked_at), title);
  }
  if (is_infragraph(document)) return read_infragraph(document);
  if (is_graph_file(document)) return read_graph_file(document);
  Node(document).fail(
      "this describes no network",
      "expected InfraGraph (devices, instances), Slurm's topology.yaml, or devices, switches and links");
}

namespace {

bool has_topologies(const Cluster& cluster) {
  return std::any_of(cluster.groups().begin(), cluster.groups().end(), [](const NodeGroup& group) {
    const NodeTopology& topology = group.hardware.spec.topology;
    return topology && !topology.inside;
  });
}

Cluster with_fabric_file(const Cluster& cluster) {
  Fabric fabric = cluster.fabric();
  if (has_shape(fabric.type)) static_cast<void>(Topology(cluster));
  if (fabric.type != FabricType::file || fabric.graph) return cluster;
  NetworkGraph graph = read_network_file(fabric.file, fabric.topology, fabric.where);
  if (!graph.rates_from_cluster) {
    require_connected(graph);
    if (fabric.oversubscription > 1) {
      fail_input(fabric.where,
                 fmt::format("{} states the rate of every link, so that oversubscription says nothing", fabric.title()),
                 "leave cluster.fabric.oversubscription out");
    }
  }
  fabric.graph = std::make_shared<const NetworkGraph>(std::move(graph));
  std::vector<NodeAllotment> nodes(cluster.groups().begin(), cluster.groups().end());
  const Cluster with_graph(nodes, fabric, cluster.perturbations(), cluster.facility());
  fabric.leaf_of_node = std::make_shared<const std::vector<int>>(leaves_of(Topology(with_graph), with_graph));
  return {std::move(nodes), std::move(fabric), cluster.perturbations(), cluster.facility()};
}

}  // namespace

Cluster with_network_files(const Cluster& cluster) {
  if (!has_topologies(cluster)) return with_fabric_file(cluster);
  std::vector<NodeAllotment> nodes(cluster.groups().begin(), cluster.groups().end());
  return with_fabric_file(
      {with_node_topologies(std::move(nodes)), cluster.fabric(), cluster.perturbations(), cluster.facility()});
}

}  // namespace mirfak
