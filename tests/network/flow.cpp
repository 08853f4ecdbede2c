#include "network/flow.hpp"

#include "cluster/fixtures.hpp"
#include "network/graph_file.hpp"

#include <doctest/doctest.h>

#include <string>

namespace flow_test {

using namespace mirfak;

namespace {

Fabric fabric_from(const std::string& yaml) {
  const Document document = Document::from_text(yaml, "job.yaml");
  return read_fabric(Node(document));
}

double bisection(const std::string& fabric, int nodes) {
  const Cluster cluster = uniform_cluster("hgx-h100", nodes, fabric_from(fabric));
  return bisection_of(Topology(cluster), &cluster).bandwidth;
}

constexpr double kPort = 50e9;  // NDR; 8 of each node

}  // namespace

TEST_CASE("bisections are those of the closed forms") {
  // All ports of half the nodes; over the oversubscription where halves part blocks.
  CHECK(bisection("{type: full-bisection}", 16) == doctest::Approx(8 * 8 * kPort));
  CHECK(bisection("{type: fat-tree}", 16) == doctest::Approx(8 * 8 * kPort));
  CHECK(bisection("{type: fat-tree, oversubscription: 4}", 16) == doctest::Approx(8 * 8 * kPort / 4));
  CHECK(bisection("{type: rail-optimized, oversubscription: 4}", 64) == doctest::Approx(32 * 8 * kPort / 4));
  CHECK(bisection("{type: fat-tree, levels: [{ports: 16}, {gpus: 128, oversubscription: 7}]}", 32) ==
        doctest::Approx(16 * 8 * kPort / 7));
  // A torus: two rings' worth of links for each line across the longest dimension.
  CHECK(bisection("{type: torus-3d, dimensions: [4, 4, 4], oversubscription: 8}", 64) ==
        doctest::Approx(2 * 16 * 8 * kPort / 8));
  CHECK(bisection("{type: torus-2d, dimensions: [8, 2], oversubscription: 8}", 16) ==
        doctest::Approx(2 * 2 * 8 * kPort / 8));
  // A dragonfly of 8 groups: 4 x 4 pairs of groups across, floor(4 * 2 / 7) links each.
  CHECK(bisection("{type: dragonfly, leaf_ports: 8, group_routers: 4, global_links: 2}", 32) ==
        doctest::Approx(16 * kPort));
}

TEST_CASE("diameters are those of the closed forms") {
  const auto hops = [](const std::string& fabric, int nodes) {
    return diameter_of(Topology(uniform_cluster("hgx-h100", nodes, fabric_from(fabric)))).hops;
  };
  // Device and port at both ends are 4 links; between the first and the last switch 2 for each level above.
  CHECK(hops("{type: full-bisection}", 16) == 4);
  CHECK(hops("{type: fat-tree}", 16) == 6);
  CHECK(hops("{type: fat-tree, levels: [{ports: 16}, {gpus: 128}]}", 32) == 8);
  CHECK(hops("{type: torus-3d, dimensions: [4, 4, 4]}", 64) == 4 + 6);
  CHECK(hops("{type: dragonfly, leaf_ports: 8, group_routers: 4, global_links: 2}", 36) == 4 + 3);
}

TEST_CASE("bandwidth between groups") {
  const Cluster cluster = uniform_cluster("hgx-h100", 64, fabric_from("{type: rail-optimized, oversubscription: 4}"));
  const Topology topology(cluster);
  const auto between = [&](const std::string& a, const std::string& b) {
    return most_between(topology, named_devices(topology, &cluster, a, "--between"),
                        named_devices(topology, &cluster, b, "--between"));
  };
  CHECK(between("node:0", "node:1") == doctest::Approx(8 * kPort));
  CHECK(between("device:0", "device:8") == doctest::Approx(8 * kPort));  // through NVLink by all ports of the node
  CHECK(between("pod:0", "pod:1") == doctest::Approx(32 * 8 * kPort / 4));
  CHECK_THROWS_AS(between("pod:7", "pod:1"), Error);
  CHECK_THROWS_AS(between("shelf:7", "pod:1"), Error);
}

TEST_CASE("names of vertices and the order of links change nothing") {
  const std::string links =
      "\nlinks: [{from: %, to: leaf, pattern: spread, bandwidth: 50e9},"
      " {from: leaf, to: spine, pattern: all-to-all, bandwidth: 100e9}]";
  const std::string turned =
      "\nlinks: [{from: spine, to: leaf, pattern: all-to-all, bandwidth: 100e9, name: up},"
      " {from: %, to: leaf, pattern: spread, bandwidth: 50e9}]";
  const auto graph = [](std::string text, const std::string& name) {
    while (text.find('%') != std::string::npos) text.replace(text.find('%'), 1, name);
    return read_graph_file(
        Document::from_text("devices: [{name: " + name +
                                ", count: 16}]\nswitches: [{name: leaf, count: 4}, {name: spine, count: 2}]" + text,
                            "g.yaml"));
  };
  const Topology first(graph(links, "gpu"));
  const Topology second(graph(turned, "rank"));
  CHECK(bisection_of(first, nullptr).bandwidth == bisection_of(second, nullptr).bandwidth);
  CHECK(bisection_of(first, nullptr).bandwidth == doctest::Approx(8 * 50e9));
  CHECK(diameter_of(first).hops == diameter_of(second).hops);
  CHECK(first.name(3) == "gpu.3");
}

}  // namespace flow_test
