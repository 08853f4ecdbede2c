// strategy.stages as scenarios state it: what of the cluster each stage takes, and what it is completed to.

#include "base/error.hpp"
#include "fixture.hpp"
#include "scenario/scenario.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// 16 H100, then 8 A100.
std::string scenario_of(const std::string& strategy) {
  return "model: llama2-7b\n"
         "cluster: {nodes: [{type: hgx-h100, count: 2}, {type: dgx-a100-80g, count: 1}]}\n"
         "training: {global_batch: 96}\n"
         "strategy: {" +
         strategy + "}\n";
}

Scenario read(const std::string& text) {
  return parse_scenario(Document::from_text(text, "test.yaml"), data_folders());
}

}  // namespace

TEST_CASE("stages take nodes and GPUs in the order of the cluster, and have what is left of them as replicas") {
  const Scenario scenario =
      read(scenario_of("micro_batch: 2, stages: [{layers: 22, nodes: 2, tensor: 4}, {layers: 6, gpus: 4, tensor: 4}, "
                       "{layers: 4, tensor: 2, data: 2}]"));
  const Job& job = scenario.job;
  CHECK(job.strategy.stages == std::vector<StageShape>{{4, 4, 1}, {4, 1, 1}, {2, 2, 1}});
  CHECK(job.strategy.layer_split == std::vector<int>{22, 6, 4});
  CHECK(job.strategy.pipeline == 3);
  CHECK(job.strategy.ranks() == 24);
  // The widest is the first: 2 sequences on each of 4 replicas.
  CHECK(job.strategy.data == 4);
  CHECK(job.strategy.at(1).micro_batch == 8);
  CHECK(job.strategy.at(2).micro_batch == 4);
  CHECK(job.hardware_of(0, 3).hardware.spec.name == "hgx-h100");
  CHECK(job.hardware_of(1, 0).hardware.spec.name == "dgx-a100-80g");
  CHECK(job.rank_of(2, 1, 1) == 23);
}

TEST_CASE("the scenario of stages, written out, reads back as the same job") {
  for (const char* strategy :
       {"stages: [{nodes: 1, tensor: 4}, {nodes: 1, tensor: 2}, {nodes: 1, tensor: 8}], layer_split: [12, 12, 8]",
        "stages: [{layers: 20, nodes: 2, tensor: 8}, {layers: 12, nodes: 1}], tensor: 4, zero: 1",
        "data: 2, stages: [{layers: 10, tensor: 8}, {layers: 22, tensor: 4}]"}) {
    INFO(strategy);
    const Scenario scenario = read(scenario_of(strategy));
    const std::string again = scenario.resolved;
    CHECK(read(again).job.strategy == scenario.job.strategy);
    CHECK(read(again).resolved == scenario.resolved);
  }
}

namespace {

// 24 layers of the tower, one that joins its vectors and words, 36 of the decoder.
Strategy strategy_of_tower(const std::string& stages) {
  return read(
             "model: qwen3-vl-4b\n"
             "cluster: {nodes: [{type: hgx-h100, count: 2}]}\n"
             "training: {global_batch: 64, sequence_length: 4096}\n"
             "strategy: {stages: [" +
             stages + "]}\n")
      .job.strategy;
}

}  // namespace

TEST_CASE("a stage that is the tower has its layers, and the others divide the decoder's") {
  const Strategy two = strategy_of_tower("{tower: true, gpus: 8, tensor: 1}, {gpus: 8, tensor: 4}");
  CHECK(two.layer_split == std::vector<int>{24, 37});
  CHECK(two.stages == std::vector<StageShape>{{1, 8, 1}, {4, 2, 1}});
  const std::string rest = "{gpus: 4, tensor: 4}, {gpus: 4, tensor: 4}";
  CHECK(strategy_of_tower("{tower: true, gpus: 8, tensor: 1}, " + rest).layer_split == std::vector<int>{24, 19, 18});
  CHECK(strategy_of_tower("{tower: true, gpus: 8, tensor: 1}, {layers: 17, gpus: 4, tensor: 4}, {layers: 20, gpus: 4, "
                          "tensor: 4}")
            .layer_split == std::vector<int>{24, 17, 20});
}

TEST_CASE("a stage lies on nodes of one type") {
  const std::string text =
      scenario_of("stages: [{layers: 10, gpus: 12, tensor: 4}, {layers: 22, gpus: 12, tensor: 4}]");
  CHECK_THROWS_WITH_AS(
      read(text), doctest::Contains("pipeline stage 1 of its own shape, ranks 12 to 23, lies on hgx-h100 and dgx-a100"),
      Error);
}
