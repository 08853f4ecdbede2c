// Activations of modules on the host: which tensors, how many bytes, and when a pass waits for their copies.

#include "job_fixture.hpp"
#include "program/memory.hpp"
#include "program/offloaded_tensors.hpp"
#include "program/optimizer_offload.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

namespace offloaded_activations_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr double kTensor = 2048.0 * 1024 * 2;  // bytes of a sequence of 2048 tokens of hidden size 1024 in 16 bits

Job job_with(std::initializer_list<OffloadModule> modules, int pipeline = 1) {
  Strategy strategy = sized(1, 8 / pipeline, pipeline);
  Job job = small_job(4, 1, strategy, 32);
  job.training.sequence_length = job.model.max_sequence = 2048;
  job.training.framework = "megatron-core";
  job.framework = framework_named("megatron-core");
  for (const OffloadModule module : modules) job.strategy.offload_modules.set(static_cast<std::size_t>(module));
  return job;
}

double offloaded(std::initializer_list<OffloadModule> modules) {
  const Job job = job_with(modules);
  const ShardedBlocks blocks = shard_blocks(job);
  return offloaded_activation_bytes(job, blocks.layer(), blocks.mesh);
}

template <typename Change>
Job with_link(Job job, const Change& change) {
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : job.cluster.groups()) {
    nodes.push_back(group);
    change(nodes.back().hardware.host_link.bandwidth.value);
  }
  job.cluster = Cluster(nodes, job.cluster.fabric());
  return job;
}

StageMemory memory_of(const Job& job) {
  const ShardedBlocks blocks = shard_blocks(job);
  std::vector<StagePlan> plans = plan_stages(job, blocks);
  order_passes(job, blocks, plans);
  return account_memory(job, blocks, plans).front();
}

}  // namespace

TEST_CASE("a module's inputs wait on the host if nothing else needs them again") {
  using enum OffloadModule;
  CHECK(offloaded({}) == 0);
  CHECK(offloaded({attention_norm}) == kTensor);
  CHECK(offloaded({mlp_norm}) == kTensor);
  CHECK(offloaded({attention_inputs}) == kTensor);    // what the norm makes
  CHECK(offloaded({core_attention}) == 3 * kTensor);  // query, key and value: the projection needs the result, too
  CHECK(offloaded({core_attention, attention_projection}) == 4 * kTensor);
  CHECK(offloaded({attention_projection}) == 0);
  CHECK(offloaded({expert_inputs, expert_activation}) == 0);
}

TEST_CASE("tensors below the framework's size stay") {
  Job job = job_with({OffloadModule::core_attention});
  job.framework.offload.module_elements = 2048.0 * 1024 + 1;
  const ShardedBlocks blocks = shard_blocks(job);
  CHECK(offloaded_tensors(job, blocks.layer(), blocks.mesh).empty());
}

TEST_CASE("the device keeps so much less of all passes in flight, and the host has it") {
  using enum OffloadModule;
  for (const int pipeline : {1, 4}) {
    const StageMemory plain = memory_of(job_with({}, pipeline));
    const StageMemory moved = memory_of(job_with({core_attention, attention_projection}, pipeline));
    const double layers = 4.0 / pipeline;
    const double in_flight = pipeline;
    CHECK(plain.host == 0);
    CHECK(moved.host == doctest::Approx(in_flight * layers * 4 * kTensor));
    CHECK(moved.peak.total() < plain.peak.total());
    // All but what the layer that runs has on the device.
    CHECK(plain.peak.total() - moved.peak.total() <= doctest::Approx(moved.host));
  }
}

TEST_CASE("copies hide behind passes, and a pass is no shorter than they are") {
  using enum OffloadModule;
  const auto seconds = [](const Job& job) { return simulate(job).result.iteration_time_s; };
  const Job plain = job_with({});
  const Job moved = job_with({core_attention});
  CHECK(seconds(with_link(moved, [](double& rate) { rate *= 100; })) == seconds(plain));
  const Job slow = with_link(moved, [](double& rate) { rate /= 1000; });
  // 4 microbatches, forward and backward, each as long as its copies: 4 layers of 3 tensors.
  const double copies = host_copy_seconds(4 * 3 * kTensor, slow.cluster.groups().front().hardware);
  CHECK(seconds(slow) > 8 * copies);
  CHECK(seconds(slow) < 8 * copies + seconds(plain));
  Job layers = slow;
  layers.strategy.offload_modules.reset();
  layers.strategy.offload_layers = 2;
  CHECK(seconds(layers) > seconds(with_link(layers, [](double& rate) { rate *= 1e5; })));
}

TEST_CASE("what layers keep on the host counts there") {
  Job job = job_with({});
  job.strategy.offload_layers = 2;
  const ShardedBlocks blocks = shard_blocks(job);
  CHECK(memory_of(job).host == doctest::Approx(2 * blocks.layer().kept_bytes));
}

TEST_CASE("inputs of experts and of their activation wait there where rows are dispatched") {
  using enum OffloadModule;
  const auto bytes = [](std::initializer_list<OffloadModule> modules, int expert = 1) {
    Job job = job_with(modules);
    job.model.mixture = {.experts = 8, .per_token = 2, .ffn = 4096};
    job.strategy.expert = expert;
    const ShardedBlocks blocks = shard_blocks(job);
    return offloaded_activation_bytes(job, blocks.layer(), blocks.mesh);
  };
  CHECK(bytes({expert_inputs}) == 2 * kTensor);     // two rows of each token
  CHECK(bytes({expert_inputs}, 8) == 2 * kTensor);  // sorted by expert behind the exchange
  CHECK(bytes({expert_activation}) > bytes({expert_inputs}));
  CHECK(bytes({expert_inputs, expert_activation}) ==
        doctest::Approx(bytes({expert_inputs}) + bytes({expert_activation})));
}

}  // namespace offloaded_activations_test
