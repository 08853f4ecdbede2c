#include "simulation/sensitivity.hpp"

#include "scenario/scenario.hpp"
#include "support/example.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace mirfak;

namespace {

using Kind = HardwareResource::Kind;

Simulation simulated(const std::string& scenario, const std::vector<std::string>& overrides = {}) {
  const std::filesystem::path source = source_root();
  return simulate(
      load_scenario(source / "scenarios" / scenario, overrides, DataFolders{source / "models", source / "hw_profiles"})
          .job);
}

const ResourceGain& gain_of(const Sensitivity& all, Kind kind, const std::string& of = {}, int level = 0) {
  const auto found = std::find_if(all.gains.begin(), all.gains.end(), [&](const ResourceGain& gain) {
    return gain.resource.kind == kind && (of.empty() || gain.resource.of == of) && gain.resource.level == level;
  });
  REQUIRE(found != all.gains.end());
  return *found;
}

// Dense and mixed, one node and many, with the network short and not, with the optimizer on the host.
std::vector<Simulation> several() {
  std::vector<Simulation> out;
  out.push_back(simulated("gpt3-13b-gpipe-a100.yaml"));
  out.push_back(simulated("llama2-70b-h100.yaml"));
  out.push_back(simulated("llama3-8b-h100-single-node.yaml"));
  out.push_back(simulated("llama2-70b-h100-a100.yaml"));
  out.push_back(simulated("llama2-7b-a100-bridges.yaml"));
  out.push_back(simulated("llama3-405b-h100.yaml", {"cluster.fabric.oversubscription=7"}));
  return out;
}

}  // namespace

TEST_CASE("as much of a resource as there is changes nothing") {
  for (const Simulation& simulation : several()) {
    for (const ResourceGain& gain : sensitivity(simulation, 1).gains) {
      CAPTURE(gain.resource.title);
      CHECK(gain.gained_s == 0);
      CHECK(gain.elasticity == 0);
    }
  }
}

TEST_CASE("more of anything makes an iteration no longer, beyond anomalies of scheduling, and less no shorter") {
  constexpr double kAnomaly = 2e-3;  // of the iteration; NCCL's choice of an algorithm moves, too
  for (const Simulation& simulation : several()) {
    const double seconds = simulation.result.iteration_time_s;
    for (const ResourceGain& gain : sensitivity(simulation, 1.1).gains) {
      CAPTURE(gain.resource.title);
      CHECK(gain.gained_s > -kAnomaly * seconds);
      CHECK(gain.elasticity < 1 + 1e-9);  // no resource is more than all of the time
    }
    for (const ResourceGain& gain : sensitivity(simulation, 0.9).gains) {
      CAPTURE(gain.resource.title);
      CHECK(gain.gained_s < kAnomaly * seconds);
    }
  }
}

TEST_CASE("a job on one node gains nothing from the network") {
  const Sensitivity all = sensitivity(simulated("llama3-8b-h100-single-node.yaml"), 2);
  CHECK(gain_of(all, Kind::bandwidth, "ib-ndr").gained_s == 0);
  CHECK(gain_of(all, Kind::latency, "ib-ndr").gained_s == 0);
  CHECK(gain_of(all, Kind::switch_level).gained_s == 0);
  CHECK(gain_of(all, Kind::switch_latency).gained_s == 0);
  CHECK(gain_of(all, Kind::compute).gained_s > 0);
}

TEST_CASE("links between switches matter where they are short, and not where they are not") {
  const std::vector<std::string> pods = {"cluster.fabric.levels=[{ports: 16}, {gpus: 1024, oversubscription: 16}]"};
  CHECK(gain_of(sensitivity(simulated("llama3-405b-h100.yaml"), 1.1), Kind::switch_level).gained_s == 0);
  const Sensitivity short_of = sensitivity(simulated("llama3-405b-h100.yaml", pods), 1.1);
  CHECK(gain_of(short_of, Kind::switch_level, {}, 1).gained_s > 0);
  CHECK(gain_of(short_of, Kind::switch_level, {}, 0).gained_s == 0);
}

TEST_CASE("what is there is changed, and nothing else") {
  const Cluster cluster = example().scenario.job.cluster;
  for (const HardwareResource& resource : hardware_resources(cluster)) {
    CAPTURE(resource.title);
    const Cluster more = with_more(cluster, resource, 2);
    const NodeHardware& before = cluster.groups().front().hardware;
    const NodeHardware& after = more.groups().front().hardware;
    const bool in_node = resource.kind != Kind::switch_level && resource.kind != Kind::switch_latency;
    CHECK((before == after) == !in_node);
    CHECK(with_more(cluster, resource, 1).groups().front().hardware == before);
  }
}

TEST_CASE("the longest list first, elasticities as the seconds say") {
  const Simulation simulation = simulated("llama2-70b-h100.yaml");
  const Sensitivity all = sensitivity(simulation, 1.25);
  CHECK(all.iteration_time_s == simulation.result.iteration_time_s);
  for (std::size_t i = 0; i < all.gains.size(); ++i) {
    const ResourceGain& gain = all.gains[i];
    if (i > 0) CHECK(all.gains[i - 1].gained_s >= gain.gained_s);
    CHECK(gain.elasticity == doctest::Approx(-std::log(gain.iteration_time_s / all.iteration_time_s) / std::log(1.25)));
  }
}
