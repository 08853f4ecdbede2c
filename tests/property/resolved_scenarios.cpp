// A drawn scenario and its resolved text are one job: the same figures to the bit, whatever tells its entries of nodes
// apart.
#include "random_scenarios.hpp"

#include "base/error.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr int kDrawnScenarios = 240;
constexpr int kMostRanks = 64;  // that a test simulates in milliseconds

// Changes of a node type that an entry may make, some of them with digits that do not end.
const std::vector<std::string>& changes() {
  static const std::vector<std::string> all = {"",
                                               ", network: ib-hdr",
                                               ", network: roce-200g, ports: 3",
                                               ", gpus: 4",
                                               ", gpus: 2, ranks_per_gpu: 2",
                                               ", clock_mhz: 1111.1",
                                               ", clock_mhz: 987.654321",
                                               ", gpu_power_limit_w: 330.7",
                                               ", price: 1.37",
                                               ", price: aws/spot"};
  return all;
}

std::string drawn_entry(const std::string& type, std::mt19937& random) {
  const std::size_t change = random() % changes().size();
  return fmt::format("{{type: {}, count: {}{}}}", type, 1 + random() % 3, changes()[change]);
}

std::string drawn_nodes(std::mt19937& random) {
  static const std::vector<std::string> types = {"hgx-h100", "dgx-a100-80g", "hgx-b200", "gb200-nvl72", "aws-p5"};
  const std::string& type = types[random() % types.size()];
  std::string out = drawn_entry(type, random);
  if (random() % 2 == 0) out += ", " + drawn_entry(random() % 2 == 0 ? type : types[random() % types.size()], random);
  return "[" + out + "]";
}

std::string drawn_more_of_cluster(std::mt19937& random) {
  static const std::vector<std::string> all = {
      "",
      "  power_cap_w: 11111.1\n",
      "  fabric: {type: fat-tree, oversubscription: 1.7, leaf_ports: 4}\n",
      "  fabric: {type: dragonfly+, group_routers: 2, switch_latency_s: 1.3e-7}\n",
      "  perturbations: {nodes: [{node: 0, compute: 1.1}], ranks: [{rank: 0, host: 3.3}]}\n",
      "  pue: 1.17\n  carbon_g_per_kwh: 333.3\n"};
  return all[random() % all.size()];
}

std::optional<IterationResult> result_of(const Job& job) {
  try {
    return simulate(job).result;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("a drawn scenario and its resolved text simulate to the same bits") {
  std::mt19937 random(20261128);
  int compared = 0;
  for (int draw = 0; draw < kDrawnScenarios; ++draw) {
    static const std::vector<std::string> precisions = {"bf16", "fp16", "fp8", "mxfp8"};
    std::string text = random_scenario({drawn_nodes(random), precisions[random() % precisions.size()]}, random);
    const std::string more = drawn_more_of_cluster(random);
    text.insert(text.find("training:"), more);
    const std::optional<Scenario> first = scenario_of(text);
    if (!first) continue;
    CAPTURE(text);
    CAPTURE(first->resolved);
    const std::optional<Scenario> again = scenario_of(first->resolved);
    REQUIRE(again);
    CHECK(again->resolved == first->resolved);
    CHECK(again->job.strategy == first->job.strategy);
    if (first->job.strategy.ranks() > kMostRanks) continue;
    const std::optional<IterationResult> one = result_of(first->job);
    CHECK(result_of(again->job) == one);
    compared += one ? 1 : 0;
  }
  CHECK(compared > kDrawnScenarios / 8);
}
