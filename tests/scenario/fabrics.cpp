// Every kind of fabric in a scenario, and what is written of it read again.

#include "network/topology.hpp"
#include "scenario/scenario.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace fabrics_test {

using namespace mirfak;

namespace {

const std::filesystem::path kTop = source_root();

Scenario on_fabric(const std::string& fabric, const ScratchFolder& folder) {
  std::ofstream(folder / "scenario.yaml") << "model: llama2-7b\n"
                                             "cluster: {nodes: [{type: hgx-h100, count: 4}], fabric: " +
                                                 fabric +
                                                 "}\n"
                                                 "training: {global_batch: 64}\n"
                                                 "strategy: {tensor: 2}\n";
  return load_scenario(folder / "scenario.yaml", {}, {kTop / "models", kTop / "hw_profiles"});
}

}  // namespace

TEST_CASE("a resolved scenario says what the fabric is") {
  const ScratchFolder folder;
  std::ofstream(folder / "topology.conf") << "SwitchName=top Switches=leaf[1-2]\n"
                                             "SwitchName=leaf1 Nodes=n[1-2]\n"
                                             "SwitchName=leaf2 Nodes=n[3-6]\n";
  std::ofstream(folder / "graph.yaml") << "devices: [{name: node, count: 4, stands_for: nodes}]\n"
                                          "switches: [{name: leaf, count: 2}]\n"
                                          "links:\n"
                                          "  - {from: node, to: leaf, pattern: spread, bandwidth: 400e9}\n"
                                          "  - {from: \"leaf[0]\", to: \"leaf[1]\", bandwidth: 100e9}\n";
  for (const char* fabric :
       {"{type: full-bisection}", "{type: fat-tree, levels: [{ports: 16}, {gpus: 3072, oversubscription: 7}]}",
        "{type: rail-only, uplinks: 4, oversubscription: 2}", "{type: dragonfly, group_routers: 4, global_links: 2}",
        "{type: dragonfly+, group_spines: 2}", "{type: torus-2d, dimensions: [2, 2]}", "{type: torus-3d}",
        "{type: rail-optimized, switch_latency_s: 1e-6}", "{file: topology.conf, oversubscription: 2}",
        "{file: graph.yaml}", "{type: fat-tree, leaf_ports: 8, routing: hashed, routing_seed: 7}",
        "{type: torus-2d, routing: spread}"}) {
    CAPTURE(fabric);
    const Scenario scenario = on_fabric(fabric, folder);
    std::ofstream(folder / "again.yaml") << scenario.resolved;
    const Scenario again = load_scenario(folder / "again.yaml", {}, {kTop / "models", kTop / "hw_profiles"});
    CHECK(again.resolved == scenario.resolved);
    const Topology topology(again.job.cluster);
    CHECK(topology.devices() == 32);
    CHECK(topology.route(0, 31).links.size() >= 4);
  }
}

TEST_CASE("nodes of a scheduler's file lie below its switches") {
  const ScratchFolder folder;
  std::ofstream(folder / "topology.conf") << "SwitchName=top Switches=leaf[1-2]\n"
                                             "SwitchName=leaf1 Nodes=n[1-2]\n"
                                             "SwitchName=leaf2 Nodes=n[3-6]\n";
  const Scenario scenario = on_fabric("{file: topology.conf, oversubscription: 2}", folder);
  const Topology topology(scenario.job.cluster);
  const Route inside = topology.route(0, 8);
  const Route across = topology.route(0, 16);
  CHECK(inside.links.size() == 4);
  CHECK(across.links.size() == 6);
  CHECK(inside.bandwidth == doctest::Approx(2 * across.bandwidth));
  CHECK(topology.name(topology.link_target(across.links[2])) == "top");
  // 16 ports of each leaf, as many uplinks.
  int uplinks = 0;
  for (int link = 0; link < topology.links(); link += 2) uplinks += topology.link_type(link) == "level 0 to 1" ? 1 : 0;
  CHECK(uplinks == 32);
  CHECK((*scenario.job.cluster.fabric().leaf_of_node)[0] == (*scenario.job.cluster.fabric().leaf_of_node)[1]);
  CHECK((*scenario.job.cluster.fabric().leaf_of_node)[1] != (*scenario.job.cluster.fabric().leaf_of_node)[2]);
}

}  // namespace fabrics_test
