// The laws of simulation/laws.hpp over drawn scenarios of every GPU in every precision that it computes in, and that
// the program says so when one is broken.
#include "simulation/laws.hpp"

#include "random_scenarios.hpp"

#include "base/error.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <optional>

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::optional<Simulation> simulated(const std::string& text) {
  const std::optional<Scenario> scenario = scenario_of(text);
  if (!scenario) return std::nullopt;
  try {
    return simulate(scenario->job);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return std::nullopt;
  }
}

// A whole number of sequences for every replica, whatever the number of nodes.
std::string small_job(const std::string& nodes, const std::string& precision) {
  return fmt::format(
      "model: gpt3-1.3b\ncluster: {{nodes: {}}}\n"
      "training: {{precision: {}, sequence_length: 2048, global_batch: 576}}\n"
      "strategy: {{micro_batch: 4, zero: 1, tensor: 2}}\n",
      nodes, precision);
}

double gemm_s(const IterationResult& result) { return result.activity_s[static_cast<std::size_t>(Activity::gemm)]; }

}  // namespace

TEST_CASE("no law is broken in drawn scenarios of every GPU and precision") {
  constexpr int kDraws = 8;      // of a GPU in a precision
  constexpr int kMaxDraws = 64;  // of a GPU whose memory or precisions let few run
  std::mt19937 random(20261122);
  for (const GpuOnNode& gpu : all_gpus()) {
    int ran = 0;
    for (int draw = 0; draw < kDraws || (ran < kDraws && draw < kMaxDraws); ++draw) {
      for (const char* precision : {"fp32", "tf32", "fp16", "bf16", "fp8-delayed", "fp8-block", "mxfp8", "nvfp4"}) {
        const std::string text =
            random_scenario({fmt::format("[{{type: {}, count: {}}}]", gpu.node, 1 + random() % 2), precision}, random);
        const std::optional<Simulation> found = simulated(text);
        if (!found) continue;
        ++ran;
        CAPTURE(text);
        const std::vector<std::string> broken = broken_laws(found->job, found->result);
        CHECK_MESSAGE(broken.empty(), (broken.empty() ? "" : broken.front()));
        double energy_j = 0;
        for (std::size_t i = 0; i < found->plans.size(); ++i) {
          energy_j += found->result.stages[i].average_power_w * found->plans[i].gpus() * found->result.iteration_time_s;
        }
        CHECK(energy_j == doctest::Approx(found->result.energy_j).epsilon(1e-9));
      }
    }
    CAPTURE(gpu.gpu);
    CHECK(ran >= kDraws);
  }
}

TEST_CASE("fp16 is as fast as bf16 where the peaks are equal") {
  int compared = 0;
  for (const GpuOnNode& gpu : all_gpus()) {
    const std::string nodes = fmt::format("[{{type: {}, count: 1}}]", gpu.node);
    const std::optional<Simulation> half = simulated(small_job(nodes, "fp16"));
    const std::optional<Simulation> bfloat = simulated(small_job(nodes, "bf16"));
    if (!half || !bfloat) continue;
    const auto& peaks = half->job.cluster.gpu_of(0).peak_flops;
    if (peaks.at(Precision::fp16).value != peaks.at(Precision::bf16).value) continue;
    CAPTURE(gpu.gpu);
    CHECK(gemm_s(half->result) == doctest::Approx(gemm_s(bfloat->result)).epsilon(1e-9));
    ++compared;
  }
  CHECK(compared > 10);
}

TEST_CASE("a list of nodes means the same in one entry or in several") {
  const std::vector<std::vector<int>> splits = {{9, 9}, {1, 17}, {17, 1}, {6, 6, 6}};
  for (const char* node : {"gb200-nvl72", "hgx-h100", "dgx-a100-80g"}) {
    const std::optional<Simulation> whole =
        simulated(small_job(fmt::format("[{{type: {}, count: 18}}]", node), "bf16"));
    REQUIRE(whole);
    for (const std::vector<int>& split : splits) {
      std::string nodes;
      for (const int count : split)
        nodes += fmt::format("{}{{type: {}, count: {}}}", nodes.empty() ? "" : ", ", node, count);
      const std::optional<Simulation> parts = simulated(small_job('[' + nodes + ']', "bf16"));
      CAPTURE(nodes);
      REQUIRE(parts);
      CHECK(parts->timeline.makespan == whole->timeline.makespan);
      CHECK(parts->result.energy_j == whole->result.energy_j);
      CHECK(parts->job.cluster.groups().size() == 1);
    }
  }
}

TEST_CASE("causal attention counts what fused kernels execute, about half of all pairs") {
  const auto result_of = [](const char* attention_framework, int tokens) {
    return simulated(fmt::format("model: llama3-8b\ncluster: {{nodes: [{{type: hgx-h100, count: 1}}]}}\n"
                                 "training: {{sequence_length: {}, global_batch: 8, framework: {}}}\n",
                                 tokens, attention_framework))
        ->result;
  };
  const IterationResult fused = result_of("megatron-core", 1 << 20);
  CHECK(fused.executed_flop < 0.6 * fused.hardware_flop);
  CHECK(fused.executed_flop > 0.5 * fused.hardware_flop);
  CHECK(fused.visible_flop < fused.executed_flop);  // backward kernels compute scores again
  const IterationResult unfused = result_of("megatron-lm-2021", 2048);
  CHECK(unfused.executed_flop == unfused.hardware_flop);
  CHECK(unfused.visible_flop == unfused.model_flop);
}

TEST_CASE("a broken law is said, with its figures") {
  const std::optional<Simulation> found = simulated(small_job("[{type: hgx-h100, count: 1}]", "bf16"));
  REQUIRE(found);
  CHECK(broken_laws(found->job, found->result).empty());
  const auto says = [&](void (*break_it)(IterationResult&), const char* what) {
    IterationResult result = found->result;
    break_it(result);
    const std::vector<std::string> notes = notes_on(found->job, result);
    REQUIRE(notes.size() == 1);
    CAPTURE(notes.front());
    CHECK(notes.front().find(what) != std::string::npos);
  };
  says([](IterationResult& r) { r.stages[0].average_power_w = 770; }, "770 W on average, above its limit of 700 W");
  says([](IterationResult& r) { r.stages[0].average_power_w = 10; }, "10 W on average, below the 71 W");
  says([](IterationResult& r) { r.hfu = 1.058; }, "105.8 % of their peak");
  says([](IterationResult& r) { r.mfu = 1.01 * r.hfu; }, "without");
  says([](IterationResult& r) { r.stages[0].activity_s[0] += 0.1 * r.iteration_time_s; }, "adds up to");
}
