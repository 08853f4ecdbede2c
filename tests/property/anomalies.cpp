// Cases where more takes longer (simulation/README.md): over drawn scenarios, no more than the bound of its kind.
#include "simulation/anomalies.hpp"

#include "random_scenarios.hpp"

#include "base/error.hpp"
#include "program/paired_bodies.hpp"
#include "schedule/pass_timeline.hpp"
#include "simulation/sensitivity.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace anomalies_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr double kRounding = 1e-9;

std::optional<Job> drawn_job(std::mt19937& random) {
  static const std::vector<const char*> nodes = {"hgx-h100", "dgx-a100-80g", "hgx-b200", "gb200-nvl72", "mi300x-8"};
  const std::string cluster =
      fmt::format("[{{type: {}, count: {}}}]", nodes[random() % nodes.size()], 1U << (random() % 3));
  const std::optional<Scenario> scenario = scenario_of(random_scenario({cluster, "bf16"}, random));
  return scenario ? std::optional(scenario->job) : std::nullopt;
}

std::optional<Simulation> simulated(const Job& job) {
  try {
    return simulate(job);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return std::nullopt;
  }
}

double time_s(const Simulation& of) { return of.result.iteration_time_s; }

// The ratio by which the clock of any stage falls at most.
double clock_ratio(const Simulation& before, const Simulation& after) {
  double ratio = 1;
  for (std::size_t i = 0; i < before.plans.size(); ++i) {
    ratio = std::max(ratio, before.plans[i].costs.kernels.clock_share() / after.plans[i].costs.kernels.clock_share());
  }
  return ratio;
}

bool leaves_kernels_alone(const HardwareResource& resource) {
  using Kind = HardwareResource::Kind;
  return resource.kind == Kind::host_speed || resource.kind == Kind::bandwidth || resource.kind == Kind::latency ||
         resource.kind == Kind::switch_level || resource.kind == Kind::switch_latency;
}

// The time by which tasks take longer than the clock explains, all together.
double longer_s(const Simulation& before, const Simulation& after, double clock) {
  double sum = 0;
  for (TaskId task = 0; task < before.program.size(); ++task) {
    const double was = to_seconds(before.program.duration[task]);
    sum += std::max(0.0, to_seconds(after.program.duration[task]) - clock * was);
  }
  return sum;
}

}  // namespace

namespace {

// Counts the resources of the job's cluster that make it longer, each checked against its bound.
int check_resources(const Job& job, const Simulation& before) {
  int longer = 0;
  const double bound = clock_bound(before);
  for (const HardwareResource& resource : hardware_resources(job.cluster)) {
    Job more = job;
    more.cluster = with_more(job.cluster, resource, 1.1);
    const Simulation after = simulate(more);
    const double clock = clock_ratio(before, after);
    CAPTURE(resource.title);
    if (leaves_kernels_alone(resource)) CHECK(clock <= bound * (1 + 1e-6));
    if (time_s(after) <= time_s(before) * (1 + kRounding)) continue;
    ++longer;
    if (time_s(after) > time_s(before) * (1 + 1e-7)) CHECK(why_longer(before, after) != "rounding to picoseconds");
    if (before.program.shares_links() || after.program.size() != before.program.size()) {
      CHECK(time_s(after) <= 2 * time_s(before));
      continue;
    }
    const double allowed = clock * time_s(before) + longer_s(before, after, clock);
    CHECK(time_s(after) <= order_bound(before) * allowed * (1 + kRounding));
  }
  return longer;
}

}  // namespace

TEST_CASE("more of a resource: longer by what the clock falls, what collectives take longer, what is chosen by times") {
  std::mt19937 random(20261128);
  for (int ran = 0; ran < 40;) {
    const std::optional<Job> job = drawn_job(random);
    if (!job) continue;
    const std::optional<Simulation> before = simulated(*job);
    if (!before || before->program.size() > 20000) continue;
    ++ran;
    check_resources(*job, *before);
  }
}

TEST_CASE("... and it happens: a faster link lowers a clock, or has NCCL take more multiprocessors") {
  struct Known {
    const char* scenario;
    const char* why;
  };
  for (const Known& known :
       {Known{"model: gpt3-2.7b\ncluster: {nodes: [{type: hgx-h100, count: 4}]}\n"
              "training: {precision: bf16, global_batch: 32, sequence_length: 2048}\n"
              "strategy: {tensor: 2, pipeline: 4, micro_batch: 1, recompute: selective}\n",
              "of their clock"},
        Known{"model: llama2-70b\ncluster: {nodes: [{type: mi355x-8, count: 4}]}\n"
              "training: {precision: bf16, global_batch: 8, sequence_length: 4096}\n"
              "strategy: {tensor: 4, pipeline: 2, micro_batch: 1, schedule: gpipe, sequence_parallel: true, zero: 1, "
              "overlap_grad_reduce: true}\n",
              "more channels"}}) {
    CAPTURE(known.scenario);
    const std::optional<Scenario> scenario = scenario_of(known.scenario);
    REQUIRE(scenario.has_value());
    const Simulation before = simulate(scenario->job);
    CHECK(check_resources(scenario->job, before) > 0);
    std::string notes;
    for (const std::string& note : sensitivity(before, 1.1).notes) notes += note + "\n";
    CHECK_MESSAGE(notes.find(known.why) != std::string::npos, notes);
  }
}

TEST_CASE("collectives beside passes cost no more than their buckets and the multiprocessors that they hold") {
  std::mt19937 random(36);
  int ran = 0;
  int longer = 0;
  while (ran < 150) {
    std::optional<Job> job = drawn_job(random);
    if (!job) continue;
    job->strategy.overlap_grad_reduce = false;
    const std::optional<Simulation> behind = simulated(*job);
    job->strategy.overlap_grad_reduce = true;
    const std::optional<Simulation> beside = behind ? simulated(*job) : std::nullopt;
    if (!beside) continue;
    ++ran;
    longer += time_s(*beside) > time_s(*behind) * (1 + kRounding) ? 1 : 0;
    CAPTURE(job->model.name);
    CHECK(time_s(*beside) <= (time_s(*behind) + overlap_bound_s(*beside)) * (1 + kRounding));
  }
  CHECK(longer > 0);
}

TEST_CASE("recomputation needs no more memory but for what one layer that runs again holds on its way") {
  std::mt19937 random(7);
  int ran = 0;
  while (ran < 150) {
    std::optional<Job> job = drawn_job(random);
    if (!job) continue;
    job->strategy.recompute = Recompute::none;
    const std::optional<Simulation> kept = simulated(*job);
    if (!kept) continue;
    for (const Recompute how : {Recompute::selective, Recompute::full}) {
      job->strategy.recompute = how;
      const std::optional<Simulation> again = simulated(*job);
      if (!again) continue;
      ++ran;
      CAPTURE(job->model.name);
      const double bound = recomputation_bound_bytes(*again);
      CHECK(bound >= 0);
      for (std::size_t i = 0; i < kept->result.stages.size(); ++i) {
        CHECK(again->result.stages[i].memory.peak.total() <=
              (kept->result.stages[i].memory.peak.total() + bound) * (1 + kRounding));
      }
    }
  }
}

TEST_CASE("two passes merged by any choice take at least the longer and at most both") {
  std::mt19937 random(17);
  const auto drawn = [&] {
    Body body;
    const int steps = 1 + static_cast<int>(random() % 12);
    for (int i = 0; i < steps; ++i) {
      BodyStep step;
      step.stream = random() % 2 == 0 ? StreamKind::compute : StreamKind::expert;
      step.device = static_cast<Picoseconds>(random() % 1000);
      if (i > 0) step.after = {i - 1};
      body.steps.push_back(step);
    }
    return body;
  };
  for (int i = 0; i < 2000; ++i) {
    const Body forward = drawn();
    const Body backward = drawn();
    const Picoseconds first = fold(forward).device;
    const Picoseconds second = fold(backward).device;
    const Picoseconds both = fold(pair_bodies(forward, backward).body).device;
    CHECK(both >= std::max(first, second));
    CHECK(both <= first + second);
  }
}

TEST_CASE(
    "an order that follows the times of passes: faster passes take no longer than (m + p - 1) / m times as long") {
  std::mt19937 random(99);
  const Schedule& schedule = schedule_of(schedule_named("zb-auto"));
  for (int i = 0; i < 300; ++i) {
    PipelineShape shape;
    shape.stages = 2 + static_cast<int>(random() % 5);
    shape.microbatches = shape.stages + static_cast<int>(random() % 12);
    shape.chunks = 1;
    PassTimes slow;
    PassTimes fast;
    for (int stage = 0; stage < shape.stages; ++stage) {
      const auto drawn = [&] { return 100 + static_cast<std::int64_t>(random() % 900); };
      const PassTimes::OfChunk times = {drawn(), drawn(), drawn(), 0};
      const auto faster = [&](std::int64_t time) {
        return time / 2 + static_cast<std::int64_t>(random() % 100) * time / 200;
      };
      slow.chunks.push_back({times});
      fast.chunks.push_back({{faster(times.forward), faster(times.backward_input), faster(times.backward_weight), 0}});
    }
    const Placement placement = Placement::looped(shape.stages, 1);
    const auto length = [&](const PassTimes& times) {
      return static_cast<double>(run_passes(schedule.orders(shape, times), placement, times).longest_span());
    };
    const double bound = static_cast<double>(shape.microbatches + shape.stages - 1) / shape.microbatches;
    CHECK(length(fast) <= length(slow) * bound);
  }
}

// Kernel by kernel: the host waits for the routed rows of every layer.
TEST_CASE("mixtures whose host waits: neither blocking launches, nor wider numbers, nor longer sequences are faster") {
  const auto text = [](const char* precision, int sequence, bool blocks) {
    return fmt::format(
        "model: deepseek-v3\ncluster: {{nodes: [{{type: gb200-nvl72, count: 16}}]}}\n"
        "training: {{precision: {}, global_batch: 256, sequence_length: {}, gradient_precision: fp32, "
        "blocking_launches: {}}}\n"
        "strategy: {{tensor: 2, pipeline: 1, micro_batch: 4, sequence_parallel: true, zero: 1, recompute: full, "
        "recompute_layers: 2}}\n",
        precision, sequence, blocks);
  };
  LoweringOptions operators;
  operators.operators = true;
  const auto seconds = [&](const std::string& scenario) {
    return simulate(scenario_of(scenario)->job, operators).result.iteration_time_s;
  };
  const double plain_s = seconds(text("bf16", 512, false));
  CHECK(seconds(text("bf16", 512, true)) >= plain_s);
  CHECK(seconds(text("fp32", 512, false)) >= plain_s);
  CHECK(seconds(text("bf16", 1024, false)) >= plain_s);
}

TEST_CASE("model FLOPs are at most hardware FLOPs, whatever is frozen") {
  for (const char* model : {"wide-resnet-250m", "vit-l", "gpt3-125m", "llama3-8b", "mamba2-1.3b"}) {
    for (const char* adapters : {"", ", lora: {rank: 16}"}) {
      const std::optional<Scenario> scenario =
          scenario_of(fmt::format("model: {}\ncluster: {{nodes: [{{type: hgx-h100, count: 1}}]}}\n"
                                  "training: {{precision: bf16, global_batch: 16{}}}\nstrategy: {{micro_batch: 1}}\n",
                                  model, adapters));
      REQUIRE(scenario.has_value());
      const Simulation found = simulate(scenario->job);
      CAPTURE(model);
      CAPTURE(adapters);
      CHECK(found.result.model_flop <= found.result.hardware_flop * (1 + kRounding));
      CHECK(found.result.mfu <= found.result.hfu * (1 + kRounding));
    }
  }
}

TEST_CASE("products that make matrices orthogonal draw no more than the power limit") {
  const std::optional<Scenario> scenario = scenario_of(
      "model: llama3-405b\ncluster: {nodes: [{type: gb200-nvl72, count: 3}]}\n"
      "training: {precision: bf16, global_batch: 24, sequence_length: 512, optimizer: muon}\n"
      "strategy: {tensor: 1, pipeline: 2, context: 2, micro_batch: 2, recompute: full}\n");
  REQUIRE(scenario.has_value());
  const Simulation found = simulate(scenario->job);
  const double limit_w = scenario->job.cluster.gpu_of(0).limit_w();
  for (const StageResult& stage : found.result.stages) CHECK(stage.average_power_w <= limit_w * (1 + 1e-6));
}

TEST_CASE("passes without gradients, which rest less than others, draw no more than the power limit") {
  const std::optional<Scenario> scenario = scenario_of(
      "model: qwen3-8b\ncluster: {nodes: [{type: hgx-h100, count: 1}]}\n"
      "training: {precision: bf16, global_batch: 16, sequence_length: 2048, framework: huggingface, "
      "lora: {rank: 16, dropout: 0.05}, preferences: {answers: 2, reference: adapters-off}}\n"
      "strategy: {micro_batch: 2, recompute: full}\n");
  REQUIRE(scenario.has_value());
  const Simulation found = simulate(scenario->job);
  const double limit_w = scenario->job.cluster.gpu_of(0).limit_w();
  for (const StageResult& stage : found.result.stages) CHECK(stage.average_power_w <= limit_w * (1 + 1e-6));
}

}  // namespace anomalies_test
