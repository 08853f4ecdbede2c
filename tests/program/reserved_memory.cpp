// Memory that an allocator reserves and allocates, against the memory that is counted pass by pass.

#include "program/reserved_memory.hpp"
#include "job_fixture.hpp"
#include "program/memory.hpp"
#include "simulation/iteration.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace reserved_memory_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

Job job_of(const std::string& framework, const Strategy& strategy, std::int64_t global_batch = 16) {
  Job job = small_job(8, 1, strategy, global_batch);
  job.training.framework = framework;
  job.framework = test::framework_named(framework);
  return job;
}

std::optional<ReservedMemory> of_stage(const Lowered& lowered, std::size_t stage) {
  return reserved_memory(lowered.job, lowered.blocks, lowered.plans[stage]);
}

// Returns the job on GPUs with so much memory.
Job on_devices_of(double bytes, Job job) {
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : job.cluster.groups()) {
    nodes.push_back(group);
    nodes.back().hardware.gpu.memory_bytes.value = bytes;
  }
  job.cluster = Cluster(nodes, job.cluster.fabric());
  return job;
}

// Bytes at the fullest moment of a stage, as counted, in the framework's allocator.
double counted(const Lowered& lowered, std::size_t stage) {
  const MemoryUse peak = account_memory(lowered.job, lowered.blocks, lowered.plans)[stage].peak;
  return peak.total() - peak.platform + lowered.job.framework.memory.workspace_bytes;
}

}  // namespace

TEST_CASE("the replay allocates what is counted pass by pass, and reserves no less") {
  for (const std::string framework :
       {"megatron-core", "megatron-lm-2021", "pytorch-fsdp", "deepspeed", "huggingface"}) {
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      for (const int pipeline : {1, 2}) {
        if (pipeline > 1 && framework == "huggingface") continue;
        CAPTURE(framework);
        CAPTURE(static_cast<int>(recompute));
        CAPTURE(pipeline);
        Strategy strategy = sized(1, 4, pipeline);
        strategy.recompute = recompute;
        strategy.micro_batch = 2;
        strategy.zero = pipeline == 1 && framework == "pytorch-fsdp" ? 3 : 1;
        const Lowered lowered(job_of(framework, strategy));
        for (std::size_t stage = 0; stage < lowered.plans.size(); ++stage) {
          CAPTURE(stage);
          const auto replayed = of_stage(lowered, stage);
          REQUIRE(replayed);
          CHECK(replayed->allocated < 1.06 * counted(lowered, stage));
          // Gradients that come with the first backward pass of a pipeline are counted as always there.
          const bool come = lowered.job.framework.memory.frees_gradients && pipeline > 1;
          if (!come) CHECK(replayed->allocated > 0.94 * counted(lowered, stage));
          CHECK(replayed->reserved >= replayed->allocated);
          CHECK(replayed->reserved < 1.5 * replayed->allocated);
          CHECK_FALSE(replayed->runs_out());
        }
      }
    }
  }
}

TEST_CASE("segments that grow hold less between blocks in use; another allocator is not replayed") {
  Strategy strategy = sized(2, 2, 2);
  strategy.micro_batch = 64;
  Job job = job_of("megatron-lm-2021", strategy, 512);
  job.framework.memory.frees_gradients = true;
  const auto fixed = of_stage(Lowered(job), 0);
  job.framework.memory.expandable_segments = true;
  const auto growing = of_stage(Lowered(job), 0);
  REQUIRE(fixed);
  REQUIRE(growing);
  CHECK(growing->allocated == doctest::Approx(fixed->allocated).epsilon(0.01));
  CHECK(growing->cached() < fixed->cached());
  job.framework.memory.caching_allocator = false;
  CHECK_FALSE(of_stage(Lowered(job), 0));
}

TEST_CASE("the same again, and more microbatches than in flight, change nothing") {
  const Lowered few(job_of("megatron-core", sized(1, 2, 4), 16));
  const Lowered many(job_of("megatron-core", sized(1, 2, 4), 64));
  for (std::size_t stage = 0; stage < few.plans.size(); ++stage) {
    CHECK(of_stage(few, stage)->reserved == of_stage(few, stage)->reserved);
    CHECK(of_stage(many, stage)->reserved == of_stage(few, stage)->reserved);
  }
}

TEST_CASE("known replays are those of strategies that hold the same, and of no others") {
  KnownReplays known;
  std::vector<Strategy> strategies(5, sized(1, 2, 4));
  strategies[1].overlap_grad_reduce = true;
  strategies[2].micro_batch = 1;
  strategies[2].zero = 1;
  strategies[3].zero = 1;
  strategies[3].overlap_param_gather = true;
  strategies[4].layer_split = {1, 3, 2, 2};
  for (const Strategy& strategy : strategies) {
    const Job job = job_of("megatron-core", strategy);
    for (const Job& of : {job, on_devices_of(3e9, job), job_of("megatron-core", strategy, 8)}) {
      const Lowered lowered(of);
      for (const StagePlan& plan : lowered.plans) {
        const auto again = reserved_memory(lowered.job, lowered.blocks, plan, &known);
        CHECK(again == reserved_memory(lowered.job, lowered.blocks, plan));
      }
    }
  }
}

TEST_CASE("a device that has too little runs out, whatever its cache gives back") {
  const Job job = job_of("megatron-core", sized(1, 2, 1), 16);
  const ReservedMemory ample = *of_stage(Lowered(job), 0);
  const Job small = on_devices_of(job.framework.memory.platform_bytes + 0.9 * ample.allocated, job);
  CHECK_FALSE(ample.runs_out());
  CHECK(of_stage(Lowered(small), 0)->runs_out());
}

TEST_CASE("free pieces count where they may decide what fits, of the fullest of alike stages") {
  const Job job = job_of("megatron-core", sized(1, 2, 4), 16);
  const auto memory_of = [](const Job& of) {
    const Lowered lowered(of);
    std::vector<StageMemory> out = account_memory(lowered.job, lowered.blocks, lowered.plans);
    add_reserves(lowered.job, lowered.blocks, lowered.plans, out);
    return out;
  };
  double fullest = 0;
  for (const StageMemory& stage : memory_of(job)) {
    CHECK_FALSE(stage.allocator);
    CHECK(stage.needed() == stage.peak.total());
    fullest = std::max(fullest, stage.peak.total());
  }
  const std::vector<StageMemory> close = memory_of(on_devices_of(1.02 * fullest, job));
  CHECK(close[0].allocator);  // with the embedding
  CHECK(close[1].allocator);  // fuller than the stage behind it, which has the same blocks
  CHECK_FALSE(close[2].allocator);
  const MemoryLimit whole;
  MemoryLimit probable;
  probable.is_of_probability = true;
  for (const StageMemory& stage : close) {
    CHECK(needed_bytes(stage, whole) == stage.peak.total());
    CHECK(needed_bytes(stage, probable) == stage.needed());
    if (stage.allocator) CHECK(stage.needed() == stage.peak.total() + stage.allocator->pieces());
  }
}

TEST_CASE("a job fits with less probability where its allocator keeps free pieces") {
  Strategy strategy = sized(2, 2, 2);
  strategy.micro_batch = 64;
  Job job = job_of("megatron-lm-2021", strategy, 512);
  job.framework.memory.frees_gradients = true;
  job.ranges.memory.device = {0.03, 0.07, 0.7e9, 3.9e9};
  job = on_devices_of(1.15 * simulate(job).result.memory_peak_bytes, job);
  const IterationResult pieces = simulate(job).result;
  job.framework.memory.caching_allocator = false;
  const IterationResult none = simulate(job).result;
  CHECK(pieces.fits);
  CHECK(pieces.fit_probability < none.fit_probability);
  CHECK(pieces.memory_peak_bytes == none.memory_peak_bytes);
}

}  // namespace reserved_memory_test
