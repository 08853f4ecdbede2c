#include "network/topology.hpp"

#include "cluster/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

using namespace mirfak;

namespace {

Fabric fabric_of(FabricType type, double oversubscription = 1, int leaf_ports = 32) {
  Fabric fabric = default_fabric();
  fabric.type = type;
  fabric.oversubscription = oversubscription;
  fabric.leaf_ports = leaf_ports;
  return fabric;
}

int count_of(const Topology& topology, VertexKind kind) {
  const auto [first, last] = boost::vertices(topology.graph());
  return static_cast<int>(
      std::count_if(first, last, [&](auto vertex) { return topology.graph()[vertex].kind == kind; }));
}

// The kinds of vertices on a route, in order: "device leaf device" and so on are easier to read than ids.
std::vector<VertexKind> kinds_on(const Topology& topology, int from, const Route& route) {
  auto at = static_cast<std::uint32_t>(from);
  std::vector<VertexKind> kinds = {topology.graph()[at].kind};
  for (const int link : route.links) {
    CHECK(topology.link_source(link) == static_cast<int>(at));  // each link begins where the one before ends
    at = static_cast<std::uint32_t>(topology.link_target(link));
    kinds.push_back(topology.graph()[at].kind);
  }
  return kinds;
}

constexpr auto kDevice = VertexKind::device;
constexpr auto kNodeSwitch = VertexKind::node_switch;
constexpr auto kHost = VertexKind::host;
constexpr auto kPort = VertexKind::port;
constexpr auto kLeaf = VertexKind::leaf;
constexpr auto kSpine = VertexKind::spine;
using Kinds = std::vector<VertexKind>;

// Clusters of every wiring and fabric.
std::vector<Cluster> small_clusters() {
  std::vector<Cluster> clusters;
  for (const FabricType type :
       {FabricType::full_bisection, FabricType::rail_optimized, FabricType::fat_tree, FabricType::rail_only,
        FabricType::dragonfly, FabricType::dragonfly_plus, FabricType::torus_2d, FabricType::torus_3d}) {
    for (const char* node : {"dgx-1-v100-16g", "dgx-a100-80g", "aws-p4d", "aws-p5", "l40s-pcie-8"}) {
      clusters.push_back(uniform_cluster(node, 3, fabric_of(type, 2, 8)));
    }
    clusters.push_back(uniform_cluster("gb200-nvl72", 20, fabric_of(type, 2, 16)));
    clusters.push_back({{{catalog().node("hgx-h100"), 2, {}}, {catalog().node("aws-p3"), 2, {}}}, fabric_of(type)});
  }
  return clusters;
}

}  // namespace

TEST_CASE("every device reaches every other, and the way back is the same way") {
  for (const Cluster& cluster : small_clusters()) {
    CAPTURE(cluster.groups()[0].hardware.spec.name);
    const Topology topology(cluster);
    REQUIRE(topology.devices() == cluster.gpus());
    for (int a = 0; a < cluster.gpus(); a += 3) {
      for (int b = a + 1; b < cluster.gpus(); ++b) {
        const Route there = topology.route(a, b);
        const Route back = topology.route(b, a);
        const Kinds kinds = kinds_on(topology, a, there);
        REQUIRE(kinds.size() >= 2);
        CHECK(kinds.back() == kDevice);
        CHECK(there.bandwidth == back.bandwidth);
        CHECK(there.latency_s == doctest::Approx(back.latency_s));
        // Backwards: the same edges in reverse, each in its other direction.
        std::vector<int> mirrored(there.links.rbegin(), there.links.rend());
        for (int& link : mirrored) link ^= 1;
        CHECK(mirrored == back.links);
        const bool same_domain = cluster.place_of(a).domain == cluster.place_of(b).domain;
        CHECK(same_domain == (std::count(kinds.begin(), kinds.end(), kPort) == 0));
      }
    }
  }
}

TEST_CASE("the bottleneck of a route is the least bandwidth on it") {
  for (const Cluster& cluster : small_clusters()) {
    const Topology topology(cluster);
    const Route route = topology.route(0, cluster.gpus() - 1);
    double least = std::numeric_limits<double>::infinity();
    for (const int link : route.links) least = std::min(least, topology.link_bandwidth(link));
    CHECK(route.bandwidth == least);
  }
  const Route nowhere = Topology(uniform_cluster("dgx-a100-80g", 1)).route(3, 3);
  CHECK(nowhere.links.empty());
  CHECK(std::isinf(nowhere.bandwidth));
}

TEST_CASE("two DGX A100 by hand") {
  // Inside: NVLink, 300 GB/s. Between: one HDR port of 25 GB/s for each GPU; the same rail is one leaf away, another
  // rail three switches (leaf, spine, leaf).
  const Topology topology(uniform_cluster("dgx-a100-80g", 2));
  CHECK(count_of(topology, kDevice) == 16);
  CHECK(count_of(topology, kNodeSwitch) == 2);
  CHECK(count_of(topology, kPort) == 16);
  CHECK(count_of(topology, kLeaf) == 8);
  CHECK(count_of(topology, kSpine) == 2);
  // 16 NVLink, 16 device to port, 16 port to leaf; 8 leaves of 2 ports with an uplink to each of 2 spines.
  CHECK(topology.links() == 2 * (16 + 16 + 16 + 16));

  const Route inside = topology.route(0, 7);
  CHECK(kinds_on(topology, 0, inside) == Kinds{kDevice, kNodeSwitch, kDevice});
  CHECK(inside.bandwidth == 300e9);
  CHECK(inside.latency_s == doctest::Approx(catalog().link("nvlink3").latency_s.value));

  const Route same_rail = topology.route(3, 11);
  CHECK(kinds_on(topology, 3, same_rail) == Kinds{kDevice, kPort, kLeaf, kPort, kDevice});
  CHECK(same_rail.bandwidth == 25e9);
  const double hop = catalog().link("ib-hdr").latency_s.value;
  CHECK(same_rail.latency_s == doctest::Approx(hop));

  const Route cross_rail = topology.route(3, 12);
  CHECK(kinds_on(topology, 3, cross_rail) == Kinds{kDevice, kPort, kLeaf, kSpine, kLeaf, kPort, kDevice});
  CHECK(cross_rail.bandwidth == 25e9);
  CHECK(cross_rail.latency_s == doctest::Approx(hop + 2 * default_fabric().switch_latency_s.value));
}

TEST_CASE("oversubscription divides the uplinks of the leaves and nothing else") {
  for (const FabricType type : {FabricType::rail_optimized, FabricType::fat_tree}) {
    const Topology even(uniform_cluster("dgx-a100-80g", 16, fabric_of(type, 1)));
    const Topology narrow(uniform_cluster("dgx-a100-80g", 16, fabric_of(type, 4)));
    REQUIRE(even.links() == narrow.links());
    int uplinks = 0;
    for (int link = 0; link < even.links(); link += 2) {
      const bool up = even.link_type(link) == "leaf to spine";
      uplinks += up ? 1 : 0;
      REQUIRE(even.link_name(link) == narrow.link_name(link));
      CHECK(narrow.link_bandwidth(link) * (up ? 4 : 1) == doctest::Approx(even.link_bandwidth(link)));
    }
    // 16 nodes with 8 ports: as many uplinks as ports, of 8 rails or of 4 leaves of 4 nodes each.
    CHECK(uplinks == 128);
  }
}

TEST_CASE("without oversubscription a leaf sends up what its nodes can send") {
  // A rail of 16 HDR ports: 16 x 25 GB/s, over as many uplinks.
  const Topology topology(uniform_cluster("dgx-a100-80g", 16));
  const Route cross_rail = topology.route(0, 9);
  CHECK(topology.link_bandwidth(cross_rail.links[2]) == doctest::Approx(25e9));
}

TEST_CASE("ports that serve the same devices are striped, devices that share a port are counted") {
  // p5: 32 ports of 12.5 GB/s for 8 GPUs, 4 each. p4d: 4 ports for 8 GPUs. PCIe servers: all through the host.
  const Topology p5(uniform_cluster("aws-p5", 2));
  CHECK(p5.route(0, 8).bandwidth == doctest::Approx(50e9));
  CHECK(p5.devices_sharing_port(5) == 1);
  const Topology p4d(uniform_cluster("aws-p4d", 2));
  CHECK(p4d.route(0, 8).bandwidth == doctest::Approx(12.5e9));
  CHECK(p4d.devices_sharing_port(5) == 2);
  CHECK(p4d.route(0, 8).links[1] == p4d.route(1, 9).links[1]);
  CHECK(p4d.route(0, 8).links[1] != p4d.route(2, 10).links[1]);
  CHECK(Topology(uniform_cluster("aws-p3dn", 2)).devices_sharing_port(0) == 8);
  CHECK(Topology(uniform_cluster("l40s-pcie-8", 2)).devices_sharing_port(0) == 8);
}

TEST_CASE("a DGX-1 is a cube mesh: six links of each GPU, at most two hops") {
  const Topology topology(uniform_cluster("dgx-1-v100-16g", 1));
  for (int a = 0; a < 8; ++a) {
    double bandwidth = 0;
    for (int b = 0; b < 8; ++b) {
      if (a == b) continue;
      const Route route = topology.route(a, b);
      CHECK(route.links.size() <= 2);
      if (route.links.size() == 1) bandwidth += route.bandwidth;
    }
    CHECK(bandwidth == doctest::Approx(150e9));  // 6 links of 25 GB/s
  }
  CHECK(topology.route(0, 3).bandwidth == doctest::Approx(50e9));
  CHECK(topology.route(0, 1).bandwidth == doctest::Approx(25e9));
}

TEST_CASE("a cube mesh of fewer GPUs has the links between them, and none to what stands behind them") {
  for (const FabricType type : {FabricType::full_bisection, FabricType::dragonfly, FabricType::torus_2d}) {
    for (int gpus = 1; gpus < 8; ++gpus) {
      NodeHardware node = catalog().node("dgx-1-v100-32g");
      node.spec.gpus = node.spec.scale_up_domain = gpus;
      const Topology topology(Cluster({{node, 2, {}}}, fabric_of(type)));
      int inside = 0;
      for (int link = 0; link < topology.links(); ++link) {
        if (topology.link_type(link) != "scale-up link") continue;
        ++inside;
        CHECK(topology.link_source(link) / gpus == topology.link_target(link) / gpus);
        CHECK(std::max(topology.link_source(link), topology.link_target(link)) < 2 * gpus);
      }
      // Pairs that links join, of the 16, among so many GPUs; two nodes, both directions.
      constexpr std::array<int, 8> pairs = {0, 0, 1, 3, 6, 7, 9, 12};
      CHECK(inside == 4 * pairs[static_cast<std::size_t>(gpus)]);
      for (int device = 0; device < 2 * gpus; ++device) CHECK_FALSE(topology.attachments(device).empty());
    }
  }
}

TEST_CASE("GPUs without NVLink meet in their host") {
  const Topology topology(uniform_cluster("l40s-pcie-8", 2));
  CHECK(kinds_on(topology, 0, topology.route(0, 5)) == Kinds{kDevice, kHost, kDevice});
  CHECK(topology.route(0, 5).bandwidth == doctest::Approx(31.5e9));
  CHECK(kinds_on(topology, 0, topology.route(0, 8)) == Kinds{kDevice, kHost, kPort, kLeaf, kPort, kHost, kDevice});
}

TEST_CASE("trays of a rack meet in its switches, racks in the network") {
  const Topology topology(uniform_cluster("gb200-nvl72", 36));
  CHECK(kinds_on(topology, 0, topology.route(0, 71)) == Kinds{kDevice, kNodeSwitch, kDevice});
  CHECK(topology.route(0, 71).bandwidth == 900e9);
  CHECK(topology.route(0, 72).bandwidth == 50e9);
}

TEST_CASE("pods take as many nodes as their leaves have ports") {
  // 40 nodes on leaves of 32 ports: 8 rails of 32 nodes and 8 of the other 8; a full-bisection fabric is one switch.
  CHECK(count_of(Topology(uniform_cluster("dgx-a100-80g", 40)), kLeaf) == 16);
  CHECK(count_of(Topology(uniform_cluster("dgx-a100-80g", 40, fabric_of(FabricType::fat_tree))), kLeaf) == 10);
  const Topology flat(uniform_cluster("dgx-a100-80g", 40, fabric_of(FabricType::full_bisection)));
  CHECK(count_of(flat, kLeaf) == 1);
  CHECK(count_of(flat, kSpine) == 0);
}

TEST_CASE("equal clusters have equal routes") {
  const Topology first(uniform_cluster("dgx-1-v100-32g", 4));
  const Topology second(uniform_cluster("dgx-1-v100-32g", 4));
  for (int device = 1; device < first.devices(); ++device) {
    CHECK(first.route(0, device).links == second.route(0, device).links);
  }
}
