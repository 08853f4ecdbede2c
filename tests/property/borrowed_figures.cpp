// Hardware without a measured table of its own says whose figures it uses, and how that widens the iteration's error.
#include "simulation/borrowed_figures.hpp"
#include "simulation/prediction_range.hpp"

#include "random_scenarios.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::vector<std::string> notes_of(const std::string& node, const std::string& precision = "bf16", int tensor = 2) {
  const std::optional<Scenario> scenario =
      scenario_of(fmt::format("model: gpt3-1.3b\ncluster: {{nodes: [{{type: {}, count: 1}}]}}\n"
                              "training: {{precision: {}, global_batch: 64}}\nstrategy: {{tensor: {}}}\n",
                              node, precision, tensor));
  REQUIRE(scenario);
  const Simulation simulation = simulate(scenario->job);
  return borrowed_figures(simulation.job, simulation.result);
}

bool any_has(const std::vector<std::string>& notes, const std::string& text) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("hardware with tables of its own borrows nothing") {
  for (const char* node : {"dgx-a100-80g", "hgx-h100", "hgx-h200", "hgx-b200", "gb200-nvl72"}) {
    CAPTURE(node);
    CHECK(notes_of(node).empty());
  }
}

TEST_CASE("products, precisions and links that were not measured are said, with whose figures stand in") {
  const std::vector<std::string> other_architecture = notes_of("mi250-8");
  CHECK(any_has(other_architecture, "mi250-gcd has no measured table"));
  CHECK(any_has(other_architecture, "a100-80g (ampere)"));
  CHECK(any_has(other_architecture, "off by up to 49 %"));
  CHECK(any_has(other_architecture, "infinity-fabric-mi250 were not measured"));
  const std::vector<std::string> same_architecture = notes_of("a100-pcie-8");
  CHECK(any_has(same_architecture, "off by up to 14 %"));
  CHECK(any_has(same_architecture, "measured between rtx-pro-6000, not between a100-pcie-80g"));
  CHECK(any_has(notes_of("dgx-a100-80g", "fp32"), "no measured table of products in fp32"));
}

TEST_CASE(
    "hosts differ over PCI Express: what waits for collectives at that pace makes the range wider, and a note says "
    "so") {
  const auto run = [](const std::string& cluster, const std::string& strategy) {
    const std::optional<Scenario> scenario = scenario_of(fmt::format(
        "model: gpt3-1.3b\ncluster: {{{}}}\ntraining: {{global_batch: 64}}\nstrategy: {{{}}}\n", cluster, strategy));
    REQUIRE(scenario);
    return simulate(scenario->job);
  };
  const auto share_of = [](const Simulation& of, Activity activity) {
    return of.result.activity_s[static_cast<std::size_t>(activity)] / of.result.iteration_time_s;
  };
  const Simulation tensor = run("nodes: [{type: rtx-pro-6000-pcie-8, count: 1}]", "tensor: 8");
  const HostMargins margins = host_margins(tensor.job, tensor.result);
  const double waits = share_of(tensor, Activity::tensor_communication);
  CHECK(waits > 0.2);
  CHECK(margins.longer == doctest::Approx(waits * std::expm1(0.60)));
  CHECK(margins.shorter == doctest::Approx(-waits * std::expm1(-0.52)));
  CHECK(any_has(borrowed_figures(tensor.job, tensor.result), "on 80 % of hosts they take 0.59 to 1.8 times as long"));
  const IterationResult& r = tensor.result;
  const PredictionRange without =
      prediction_range(r.iteration_time_s, uncertainty_shares(tensor.job, r), tensor.job.ranges);
  CHECK(r.iteration_time_high_s > without.high_s);
  CHECK(r.iteration_time_low_s < without.low_s);
  CHECK(std::pow(std::log(r.iteration_time_high_s / r.iteration_time_s), 2) ==
        doctest::Approx(std::pow(std::log(without.high_s / r.iteration_time_s), 2) +
                        std::pow(std::log1p(margins.longer), 2)));

  const auto longer = [&](const std::string& cluster, const std::string& strategy) {
    const Simulation of = run(cluster, strategy);
    return host_margins(of.job, of.result).longer;
  };
  CHECK(longer("nodes: [{type: hgx-h100, count: 1}]", "tensor: 8") == 0);  // a switch of NVLink is no host
  // Replicas over two nodes wait for the slower of the host and the ports.
  CHECK(longer("nodes: [{type: a100-pcie-8, count: 2, network: tcp-1g}]", "data: 16") == 0);
  CHECK(longer("nodes: [{type: a100-pcie-8, count: 2, network: ib-ndr, ports: 8}]", "data: 16") > 0);
}

TEST_CASE("attention kernels without figures on a GPU: which others stand in for them is said") {
  const auto notes = [](const std::string& node, const std::string& framework) {
    const std::optional<Scenario> scenario =
        scenario_of(fmt::format("model: gpt3-1.3b\ncluster: {{nodes: [{{type: {}, count: 1}}]}}\n"
                                "training: {{framework: {}, global_batch: 64}}\nstrategy: {{data: 8}}\n",
                                node, framework));
    REQUIRE(scenario);
    const Simulation simulation = simulate(scenario->job);
    return attention_stand_ins(simulation.job, simulation.result);
  };
  CHECK(notes("hgx-h100", "megatron-core").empty());
  CHECK(notes("hgx-b200", "pytorch-fsdp").empty());      // flash-2
  CHECK(notes("dgx-a100-80g", "torchtitan").empty());    // flash-2, on Blackwell cuDNN's
  CHECK(notes("hgx-h100", "megatron-lm-2021").empty());  // separate kernels
  CHECK(any_has(notes("l40s-pcie-8", "pytorch-fsdp"),
                "l40s has no figures of flash-2 attention kernels: those of trtllm"));
  for (const char* framework : {"megatron-core", "torchtitan"}) {
    CHECK(any_has(notes("hgx-b200", framework), "b200 has no figures of cudnn attention kernels: those of trtllm"));
  }
}

TEST_CASE("a borrowed table makes the iteration less sure, one of another architecture more so") {
  for (const GpuOnNode& gpu : all_gpus()) {
    const GpuSpec spec = scenario_of(fmt::format("model: gpt3-125m\ncluster: {{nodes: [{{type: {}, count: 1}}]}}\n"
                                                 "training: {{precision: fp16, global_batch: 64}}\n",
                                                 gpu.node))
                             ->job.cluster.gpu_of(0);
    if (spec.like.empty()) continue;
    CAPTURE(gpu.gpu);
    REQUIRE(spec.like_error);
    CHECK(spec.like_error->value > 0);
    CHECK(spec.like_quality.held_out_p90_error > 0);
    if (spec.architecture != spec.like_architecture) CHECK(spec.like_error->value > 0.1);
  }
}
