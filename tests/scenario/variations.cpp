// Models and nodes that differ from those in the data folders, stated in the scenario itself.

#include "fixture.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

const char* const kInline =
    "model: {layers: 24, hidden: 2048, heads: 16, vocab: 51200, max_sequence: 1024, activation: relu}\n"
    "cluster:\n"
    "  nodes: [{type: dgx-a100-80g, count: 2, gpus: 4, network: ib-ndr, ports: 2}]\n"
    "training: {global_batch: 64}\n";

}  // namespace

TEST_CASE("a model may stand in the scenario") {
  const Job job = parse(kInline).job;
  CHECK(job.model.layers == 24);
  CHECK(job.model.ffn == 4 * 2048);
  CHECK(job.model.activation == ActivationFunction::relu);
  CHECK(job.training.sequence_length == 1024);
}

TEST_CASE("a node may be used in part, and have another network") {
  const Job job = parse(kInline).job;
  CHECK(job.cluster.gpus() == 8);
  CHECK(job.strategy.data == 8);
  const NodeHardware& node = job.cluster.groups()[0].hardware;
  CHECK(node.spec.scale_up_domain == 4);
  CHECK(node.spec.ports == 2);
  CHECK(node.network.name == "ib-ndr");
  CHECK(node.network.bandwidth.value == 50e9);  // 400 Gb/s
}

TEST_CASE("a rack's scale-up domain shrinks with its nodes") {
  const Job job =
      parse(kInline, {"cluster.nodes[0]={type: gb200-nvl72, count: 36, gpus: 2}", "training.global_batch=72"}).job;
  CHECK(job.cluster.groups()[0].hardware.spec.scale_up_domain == 36);  // 18 nodes of 2
  CHECK(job.cluster.domains() == 2);
}

TEST_CASE("what is stated so reads back from the resolved scenario") {
  const Scenario first = parse(kInline);
  const Scenario again = parse(first.resolved);
  CHECK(again.resolved == first.resolved);
  CHECK(again.job.model.hidden == 2048);
  CHECK(again.job.cluster.groups()[0].hardware.spec.ports == 2);
}

TEST_CASE("ranks that share GPUs are stated by GPU, and read back") {
  const Scenario first = parse(kInline, {"cluster.nodes[0].ranks_per_gpu=3", "training.global_batch=72"});
  CHECK(first.job.cluster.gpus() == 24);
  CHECK(first.job.strategy.data == 24);
  CHECK(first.job.cluster.groups()[0].hardware.spec.scale_up_domain == 12);
  const Scenario again = parse(first.resolved);
  CHECK(again.resolved == first.resolved);
  CHECK(again.job.cluster.place_of(23).gpu == first.job.cluster.place_of(21).gpu);
}

TEST_CASE("GPUs may be set to a clock, and read back") {
  const Scenario first = parse(kInline, {"cluster.nodes[0].clock_mhz=1200"});
  const NodeHardware& node = first.job.cluster.groups()[0].hardware;
  CHECK(node.spec.clock_hz == 1.2e9);
  CHECK(node.clock_limit() == 1.2e9 / node.gpu.clock_max_hz.value);
  const Scenario again = parse(first.resolved);
  CHECK(again.resolved == first.resolved);
  CHECK(again.job.cluster.groups()[0].hardware == node);
  CHECK(parse(kInline).resolved.find("clock_mhz") == std::string::npos);
  CHECK(parse(kInline).job.cluster.groups()[0].hardware.clock_limit() == 1);
  // 210 to 1410 MHz.
  CHECK_THROWS_WITH_AS(parse(kInline, {"cluster.nodes[0].clock_mhz=1500"}),
                       doctest::Contains("clock_mhz: expected a number from 210 to 1410"), Error);
}

TEST_CASE("ranks may be slower than their nodes say, and read back") {
  const Scenario first =
      parse(kInline, {"cluster.perturbations={ranks: [{rank: 5, compute: 1.2, host: 2}, {rank: 6}]}"});
  const Perturbations& perturbations = first.job.cluster.perturbations();
  CHECK(perturbations.ranks.size() == 1);  // a factor of 1 is none
  CHECK(perturbations.of(5).time == TimeFactors{1.2, 1, 2});
  CHECK(perturbations.of(4) == RankFactors{});
  const Scenario again = parse(first.resolved);
  CHECK(again.resolved == first.resolved);
  CHECK(again.job.cluster.perturbations().of(5).time == TimeFactors{1.2, 1, 2});
  CHECK(parse(kInline).resolved.find("perturbations") == std::string::npos);
}

TEST_CASE("distributions of factors, and factors of nodes and ports, read back as they are") {
  const Scenario first = parse(
      kInline,
      {"cluster.perturbations={ranks: {compute: {lognormal: {sigma: 0.02}}, host: {normal: {deviation: 0.1}}}, nodes: "
       "{compute: {two_point: {share: 0.005, value: 1.1}}}, links: [{rank: 3, factor: 2}, {rank: 4, factor: 1}], "
       "iterations: "
       "{host: {values: [1, 1.5]}}, jitter: {communication: {normal: {mean: 1.1, deviation: 0.2}}}, tokens: {values: "
       "[1, 3]}, "
       "seed: 9}"});
  const Perturbations& perturbations = first.job.cluster.perturbations();
  CHECK(perturbations.ports == std::map<int, double>{{3, 2}});
  CHECK(perturbations.drawn_nodes.compute == Distribution(Distribution::TwoPoint{0.005, 1.1}));
  CHECK(perturbations.tokens == Distribution(Distribution::Measured{0.5, 1.5}));
  CHECK(perturbations.seed == 9);
  const Scenario again = parse(first.resolved);
  CHECK(again.resolved == first.resolved);
  CHECK(again.job.cluster.perturbations().drawn_ranks == perturbations.drawn_ranks);
  CHECK(again.job.cluster.perturbations().jitter == perturbations.jitter);

  const Scenario nodes =
      parse(kInline, {"cluster.perturbations={ranks: [{rank: 0, compute: 1.5}], nodes: [{node: 0, compute: 2}]}"});
  CHECK(nodes.job.cluster.perturbations().of(0).time.compute == 3);
  CHECK(nodes.job.cluster.perturbations().of(1).time.compute == 2);
}

TEST_CASE("how popular experts are reads back as it is") {
  const std::string text =
      "model: mixtral-8x7b\ncluster:\n  nodes: [{type: hgx-h100, count: 4}]\ntraining: {global_batch: 64}\n"
      "strategy: {expert: 8}\n";
  for (const char* experts : {"{skew: 0.4}", "{tokens: [9, 7, 8, 8, 8, 8, 8, 8.5]}"}) {
    const Scenario first = parse(text, {std::string("cluster.perturbations={experts: ") + experts + "}"});
    const Scenario again = parse(first.resolved);
    CHECK(again.resolved == first.resolved);
    CHECK(again.job.cluster.perturbations().experts == first.job.cluster.perturbations().experts);
    CHECK(first.resolved.find(experts) != std::string::npos);
  }
}

TEST_CASE("more GPUs than a node has are refused at the place") {
  CHECK_THROWS_WITH_AS(parse(kInline, {"cluster.nodes[0].gpus=16"}),
                       doctest::Contains("--set cluster.nodes[0].gpus=16"), Error);
  CHECK_THROWS_WITH_AS(parse(kInline, {"model.hiden=16"}), doctest::Contains("did you mean 'hidden'?"), Error);
}
