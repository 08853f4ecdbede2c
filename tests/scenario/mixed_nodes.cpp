// Scenarios whose nodes hold several kinds of GPU: what they complete to, what stages stand on, what is refused.
#include "fixture.hpp"
#include "scenario/jobs_file.hpp"
#include "scenario/search_scenario.hpp"
#include "simulation/iteration.hpp"
#include "training/failures.hpp"

#include <doctest/doctest.h>

#include <string>

namespace mixed_nodes_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

const char* const kMixed =
    "model: gpt3-1.3b\n"
    "cluster:\n"
    "  nodes:\n"
    "    - {type: {like: rtx-4090-pcie-8, name: box, parts: [{gpu: rtx-4090, gpus: 4}, {gpu: rtx-3090, gpus: 4}]},\n"
    "       count: 2}\n"
    "training: {global_batch: 64}\n"
    "strategy: {tensor: 4, data: 4, micro_batch: 1}\n";

}  // namespace

TEST_CASE("the completed scenario of mixed nodes has one entry, and is read as the same cluster") {
  for (const std::string more : {"clock_mhz: 1500", "price: [0.4, 0.2]", "gpu_power_limit_w: [400, 300]", "count: 2"}) {
    std::string text = kMixed;
    if (more != "count: 2") text.replace(text.find("count: 2"), 8, "count: 2, " + more);
    const Scenario scenario = parse(text);
    const Scenario again = parse(scenario.resolved);
    CHECK(again.resolved == scenario.resolved);
    CHECK(scenario.job.cluster.groups().size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      const NodeGroup& one = scenario.job.cluster.groups()[i];
      const NodeGroup& other = again.job.cluster.groups()[i];
      CHECK(one.hardware.gpu.limit_w() == other.hardware.gpu.limit_w());
      CHECK(one.hardware.spec.clock_hz == other.hardware.spec.clock_hz);
      CHECK(one.price == other.price);
    }
  }
  const Scenario capped = parse(kMixed, {"cluster.power_cap_w=5000"});
  const Scenario again = parse(capped.resolved);
  CHECK(again.resolved == capped.resolved);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(again.job.cluster.groups()[i].hardware.gpu.limit_w() ==
          capped.job.cluster.groups()[i].hardware.gpu.limit_w());
  }
}

TEST_CASE("stages of their own shape stand on the kinds of a node, in their order") {
  const std::string text = std::string(kMixed).substr(0, std::string(kMixed).find("strategy")) +
                           "strategy:\n"
                           "  micro_batch: 4\n"
                           "  stages:\n"
                           "    - {layers: 8, gpus: 4, tensor: 4}\n"
                           "    - {layers: 4, gpus: 4, tensor: 2, data: 2}\n"
                           "    - {layers: 8, gpus: 4, tensor: 4}\n"
                           "    - {layers: 4, gpus: 4, tensor: 4}\n";
  const Scenario scenario = parse(text);
  CHECK(scenario.job.hardware_of(0, 0).hardware.gpu.name == "rtx-4090");
  CHECK(scenario.job.hardware_of(1, 1).hardware.gpu.name == "rtx-3090");
  CHECK(scenario.job.hardware_of(2, 0).hardware.gpu.name == "rtx-4090");
  CHECK(simulate(scenario.job).result.iteration_time_s > 0);
}

TEST_CASE("a mixed node fails as one, and one of several jobs has all of it") {
  const Cluster cluster = parse(kMixed).job.cluster;
  CHECK(unit_count(FailureUnit::node, cluster, 1) == 2);
  CHECK(unit_count(FailureUnit::gpu, cluster, 1) == 16);
  CHECK(unit_count(FailureUnit::link, cluster, 1) == 2);

  const std::string jobs =
      "cluster: {nodes: [{type: {like: rtx-4090-pcie-8, parts: [{gpu: rtx-4090, gpus: 4}, {gpu: rtx-3090, gpus: 4}]},\n"
      "                   count: 3}]}\n"
      "jobs: [{name: a, nodes: \"0,2\", scenario: {model: gpt3-1.3b, training: {global_batch: 64},\n"
      "        strategy: {tensor: 4, micro_batch: 1}}}]\n";
  const JobsFile file = read_jobs(Document::from_text(jobs, "test.yaml"), ScenarioSources(data_folders()));
  const Cluster& own = file.jobs.front().job().cluster;
  CHECK(own.nodes() == 2);
  CHECK(own.gpus() == 16);
  CHECK(own.gpu_of(12).name == "rtx-3090");
}

TEST_CASE("a search takes mixed nodes as they are") {
  const auto refuses = [](const std::string& keys, const char* message) {
    const Document document = Document::from_text(std::string(kMixed) + "search: " + keys + "\n", "test.yaml");
    CHECK_THROWS_WITH_AS(parse_search(document, data_folders()), doctest::Contains(message), Error);
  };
  refuses("{nodes: up-to}", "test.yaml:8:17: search.nodes: nodes that hold several kinds of GPU are all used");
  refuses("{space: {stages: by-type}}", "search.space.stages: shapes of stages are not searched");
}

}  // namespace mixed_nodes_test
