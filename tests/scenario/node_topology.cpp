// Scenarios whose nodes a topology file of NCCL describes.
#include "fixture.hpp"

#include "network/node_topology.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::filesystem::path samples() {
  return std::filesystem::path(source_root()).parent_path() / "shared" / "topologies" / "nccl";
}

// Tensor, pipeline and data parallelism on two nodes; without offloading, which meets switches that the profiles know
// nothing of.
Scenario on_two(const std::string& node) {
  return parse(kSmall, {"cluster.nodes[0]={type: " + node + ", count: 2}", "strategy.tensor=4", "strategy.pipeline=2",
                        "strategy.zero=1", "strategy.micro_batch=1"});
}
Scenario described(const std::string& node, const std::filesystem::path& file, const std::string& more = "") {
  return parse(kSmall,
               {"cluster.nodes[0]={type: " + node + ", count: 2, topology: \"" + file.string() + "\"" + more + "}",
                "strategy.tensor=4", "strategy.pipeline=2", "strategy.zero=1", "strategy.micro_batch=1"});
}

double seconds_of(const Scenario& scenario) { return simulate(scenario.job).result.iteration_time_s; }

}  // namespace

TEST_CASE("published files of stock nodes change no prediction") {
  const std::pair<const char*, const char*> stock[] = {{"dgx-a100-80g", "dgx-a100.xml"},
                                                       {"azure-nd-a100-v4-80g", "azure-ndv4-topo.xml"},
                                                       {"azure-nd-mi300x-v5", "rccl-8p_940vm.xml"}};
  for (const auto& of : stock) {
    CAPTURE(of.second);
    if (!std::filesystem::exists(samples() / of.second)) continue;
    CHECK(seconds_of(described(of.first, samples() / of.second)) == seconds_of(on_two(of.first)));
  }
}

TEST_CASE("the ready scenario reads back from its resolved text, and is as fast") {
  const std::string path = source_root() + "/scenarios/llama2-7b-a100-bridges.yaml";
  const Scenario first = load_scenario(path, {}, data_folders());
  const Scenario again = parse(first.resolved);
  CHECK(again.resolved == first.resolved);
  CHECK(first.resolved.find("scale_up: \"nvlink3\"") != std::string::npos);
  CHECK(first.resolved.find(" ports:") == std::string::npos);
  CHECK(again.job.cluster.groups()[0].hardware == first.job.cluster.groups()[0].hardware);
  CHECK(seconds_of(again) == seconds_of(first));
  CHECK(topology_notes(first.job.cluster).size() == 3);
  // Over all four GPUs tensor ranks wait for PCI Express.
  const Scenario wide = load_scenario(path, std::vector<std::string>{"strategy.tensor=4"}, data_folders());
  CHECK(seconds_of(wide) > 2.5 * seconds_of(first));
}

TEST_CASE("what a topology says is not said again, and a link between GPUs only beside one") {
  const std::filesystem::path file = source_root() + "/scenarios/nodes/a100-pcie-bridges.xml";
  CHECK_THROWS_WITH_AS(described("a100-pcie-4", file, ", ports: 2"), doctest::Contains("says how many ports"), Error);
  CHECK_THROWS_WITH_AS(parse(kSmall, {"cluster.nodes[0].scale_up=nvlink3"}), doctest::Contains("the node type says"),
                       Error);
}
