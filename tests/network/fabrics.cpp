#include "network/topology.hpp"

#include "cluster/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

Fabric fabric_from(const std::string& yaml) {
  const Document document = Document::from_text(yaml, "job.yaml");
  return read_fabric(Node(document));
}

std::map<std::string, int> vertices_by_type(const Topology& topology) {
  std::map<std::string, int> out;
  for (int v = 0; v < topology.vertices(); ++v) ++out[topology.vertex_type(v)];
  return out;
}

std::map<std::string, int> links_by_type(const Topology& topology) {
  std::map<std::string, int> out;
  for (int link = 0; link < topology.links(); link += 2) ++out[topology.link_type(link)];
  return out;
}

// Bandwidth of the links of one type, in one direction.
double bandwidth_of(const Topology& topology, const std::string& type) {
  double sum = 0;
  for (int link = 0; link < topology.links(); link += 2) {
    if (topology.link_type(link) == type) sum += topology.link_bandwidth(link);
  }
  return sum;
}

// Hops to a switch from each, by links between switches; -1: there is no way.
std::vector<int> distances_to(const Topology& topology, int entry) {
  std::vector<int> distance(static_cast<std::size_t>(topology.vertices()), -1);
  distance[static_cast<std::size_t>(entry)] = 0;
  for (int hops = 0; std::find(distance.begin(), distance.end(), hops) != distance.end(); ++hops) {
    for (int link = 0; link < topology.links(); ++link) {
      int& from = distance[static_cast<std::size_t>(topology.link_source(link))];
      const bool leads_there = distance[static_cast<std::size_t>(topology.link_target(link))] == hops;
      if (topology.link_source(link) >= topology.first_switch() && leads_there && from < 0) from = hops + 1;
    }
  }
  return {distance.begin() + topology.first_switch(), distance.end()};
}

// Returns those links of a switch that lead one hop nearer.
std::vector<int> next_links(const Topology& topology, int vertex, const std::vector<int>& distances) {
  const auto hops = [&](int at) { return distances[static_cast<std::size_t>(at - topology.first_switch())]; };
  std::vector<int> out;
  for (int link = 0; link < topology.links(); ++link) {
    if (topology.link_source(link) != vertex || topology.link_target(link) < topology.first_switch()) continue;
    if (hops(topology.link_target(link)) == hops(vertex) - 1) out.push_back(link);
  }
  return out;
}

}  // namespace

TEST_CASE("Llama 3's network: pods of 3,072 GPUs, 1 to 7 between them") {
  const Fabric fabric = fabric_from("{type: fat-tree, levels: [{ports: 16}, {gpus: 3072, oversubscription: 7}]}");
  CHECK(fabric.oversubscription == 7);
  const Topology topology(uniform_cluster("hgx-h100", 768, fabric));  // two pods
  auto vertices = vertices_by_type(topology);
  CHECK(vertices["leaf"] == 384);       // racks of two nodes
  CHECK(vertices["spine"] == 2 * 16);   // one for each uplink of a rack
  CHECK(vertices["core"] == 16 * 192);  // a plane for each spine of a pod
  auto links = links_by_type(topology);
  CHECK(links["leaf to spine"] == 6144);
  CHECK(links["level 1 to 2"] == 6144);
  CHECK(bandwidth_of(topology, "level 1 to 2") == doctest::Approx(bandwidth_of(topology, "leaf to spine") / 7));
  CHECK(topology.name(topology.first_switch()) == "pod 0 leaf 0");
}

TEST_CASE("a three-level tree is a k-ary fat tree where its sizes are") {
  // k = 4: leaves of 2 ports, blocks of 2 leaves; 16 single-port nodes are 4 of its pods (k^3 / 4 hosts).
  std::vector<NodeAllotment> nodes = {{catalog().node("l40s-pcie-8"), 16, {}, "on-demand"}};
  nodes.front().hardware.spec.gpus = 1;
  nodes.front().hardware.spec.scale_up_domain = 1;
  nodes.front().hardware.spec.ports = 1;
  const Topology topology(Cluster(nodes, fabric_from("{type: fat-tree, levels: [{ports: 2}, {ports: 2}]}")));
  auto vertices = vertices_by_type(topology);
  CHECK(vertices["leaf"] == 8);
  CHECK(vertices["spine"] == 8);
  CHECK(vertices["core"] == 4);
  // From one pod to another: 2 x 2 shortest ways.
  const Attachment& there = topology.attachments(15).front();
  const std::vector<int> distance = distances_to(topology, there.entry);
  const int leaf = topology.attachments(0).front().entry;
  CHECK(distance[static_cast<std::size_t>(leaf - topology.first_switch())] == 4);
  const std::vector<int> up = next_links(topology, leaf, distance);
  CHECK(up.size() == 2);
  CHECK(next_links(topology, topology.link_target(up[0]), distance).size() == 2);
  CHECK(next_links(topology, there.entry, distance).empty());
}

TEST_CASE("stated uplinks share the bandwidth of a leaf") {
  const Topology topology(
      uniform_cluster("hgx-h100", 64, fabric_from("{type: fat-tree, uplinks: 4, oversubscription: 2}")));
  auto links = links_by_type(topology);
  CHECK(links["leaf to spine"] == 16 * 4);
  CHECK(bandwidth_of(topology, "leaf to spine") == doctest::Approx(bandwidth_of(topology, "port to leaf") / 2));
}

TEST_CASE("rails that are not joined are reached through NVLink") {
  const Topology topology(uniform_cluster("hgx-h100", 64, fabric_from("{type: rail-only}")));
  // Device 0 to device 11: over the NVSwitch of node 0 to the GPU of rail 3, or of node 1 from the GPU of rail 0.
  const Route route = topology.route(0, 8 * 40 + 3);
  int switches = 0;
  for (const int link : route.links) {
    switches += topology.vertex_type(topology.link_target(link)) == "node switch" ? 1 : 0;
  }
  CHECK(switches == 1);
  // No way in the fabric leads from one rail to another.
  const std::vector<int> distance = distances_to(topology, topology.attachments(3).front().entry);
  CHECK(distance[static_cast<std::size_t>(topology.attachments(0).front().entry - topology.first_switch())] == -1);
}

TEST_CASE("a dragonfly joins every pair of groups, and no two routers are more than three hops apart") {
  const Fabric fabric = fabric_from("{type: dragonfly, leaf_ports: 8, group_routers: 4, global_links: 2}");
  const Topology topology(uniform_cluster("hgx-h100", 36, fabric));  // 9 groups of 4 routers: the balanced maximum
  auto vertices = vertices_by_type(topology);
  CHECK(vertices["router"] == 36);
  CHECK(links_by_type(topology)["global link"] == 36);  // 9 * 8 / 2
  const std::vector<int> distance = distances_to(topology, topology.first_switch());
  CHECK(*std::max_element(distance.begin(), distance.end()) == 3);
  CHECK_THROWS(Topology(uniform_cluster("hgx-h100", 40, fabric)));  // a tenth group cannot be joined
}

TEST_CASE("a torus has the diameter of its half lengths") {
  const Topology topology(uniform_cluster("hgx-h100", 64, fabric_from("{type: torus-3d, dimensions: [4, 4, 4]}")));
  CHECK(links_by_type(topology)["torus link"] == 3 * 64);
  const std::vector<int> distance = distances_to(topology, topology.first_switch());
  CHECK(*std::max_element(distance.begin(), distance.end()) == 6);
  CHECK(topology.name(topology.first_switch() + 17) == "router 1.0.1");
  CHECK_THROWS(Topology(uniform_cluster("hgx-h100", 65, fabric_from("{type: torus-3d, dimensions: [4, 4, 4]}"))));
}

TEST_CASE("every vertex and every directed link but parallel ones has a name of its own") {
  for (const std::string& type : fabric_names()) {
    const Topology topology(uniform_cluster("hgx-h100", 24, fabric_from("{type: " + type + ", leaf_ports: 16}")));
    std::set<std::string> names;
    for (int v = 0; v < topology.vertices(); ++v) names.insert(topology.name(v));
    CHECK(static_cast<int>(names.size()) == topology.vertices());
  }
}

TEST_CASE("large clusters are built") {
  const Fabric fabric = fabric_from("{type: fat-tree, levels: [{ports: 32}, {ports: 32}]}");
  for (const int nodes : {2048, 16384}) {
    const Cluster cluster = uniform_cluster("hgx-h100", nodes, fabric);
    const auto begin = std::chrono::steady_clock::now();
    const Topology topology(cluster);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    CHECK(topology.devices() == nodes * 8);
    MESSAGE(topology.devices() << " devices, " << topology.vertices() << " vertices, " << topology.links()
                               << " directed links: " << seconds.count() << " s");
  }
}
