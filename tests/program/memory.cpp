#include "program/memory.hpp"

#include "job_fixture.hpp"
#include "program/sharded_state.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

using namespace mirfak;
using namespace mirfak::test;

namespace {

struct Accounted {
  Job job;
  ShardedBlocks blocks;
  std::vector<StagePlan> plans;
  std::vector<StageMemory> memory;
  explicit Accounted(Job of)
      : job(std::move(of)),
        blocks(shard_blocks(job)),
        plans(plan_stages(job, blocks)),
        memory(account_memory(job, blocks, plans)) {}
};

}  // namespace

TEST_CASE("18 bytes per parameter, 6 + 12/d with the distributed optimizer") {
  for (const int zero : {0, 1}) {
    Strategy strategy;
    strategy.data = 16;
    strategy.zero = zero;
    Job job = small_job(8, 2, strategy, 16);
    job.framework = test::framework_named("megatron-core");
    const Accounted a(job);
    const MemoryUse use = sharded_state(job, a.plans[0]);
    const double per_parameter = (use.parameters + use.gradients + use.optimizer) / a.plans[0].parameters.elements;
    CHECK(per_parameter == doctest::Approx(zero == 0 ? 18.0 : 6 + 12.0 / 16).epsilon(1e-12));
  }
}

TEST_CASE("where products add into the gradient buffer, an empty gradient stands in for each shape of weight") {
  Strategy strategy;
  strategy.data = 16;
  Job job = small_job(8, 2, strategy, 16);
  job.framework = test::framework_named("megatron-core");
  const Accounted a(job);
  // 16 bits of one 3h x h, h x h, 4h x h and h x 4h, h = 1024, and of the output projection, 8192 x h.
  const double expected = 2 * (12.0 * 1024 * 1024 + 8192 * 1024);
  CHECK(a.memory[0].peak.gradients - sharded_state(job, a.plans[0]).gradients == doctest::Approx(expected));
  job.framework = test::framework_named("megatron-lm-2021");
  const Accounted without(job);
  CHECK(without.memory[0].peak.gradients == sharded_state(job, without.plans[0]).gradients);
}

TEST_CASE("gradients in less than fp32 are copied for the step, of the parameters that the rank updates") {
  const auto copied = [](const char* framework, const char* precision, int zero) {
    Strategy strategy;
    strategy.data = 16;
    strategy.zero = zero;
    Job job = small_job(8, 2, strategy, 16);
    job.training.precision = precision;
    job.training.framework = framework;
    job.framework = test::framework_named(framework);
    const Accounted a(job);
    return step_workspace(job, a.plans[0]) / a.plans[0].parameters.elements;
  };
  CHECK(copied("megatron-lm-2021", "fp16", 0) == doctest::Approx(4));
  CHECK(copied("megatron-lm-2021", "bf16", 0) == 0);  // they accumulate in fp32
  CHECK(copied("deepspeed", "fp16", 1) == doctest::Approx(4.0 / 16));
  CHECK(copied("pytorch-fsdp", "bf16", 3) == 0);  // the shards are fp32
}

TEST_CASE("copies of gradients that replicas reduce after all passes are those of one bucket, or of all parameters") {
  const auto copied = [](double bucket, bool overlap, int data) {
    Strategy strategy;
    strategy.data = data;
    strategy.zero = 1;
    strategy.overlap_grad_reduce = overlap;
    Job job = small_job(8, 2, strategy, 16);
    job.framework.memory.reduced_copy_bytes = 6;
    job.framework.sharding.bucket_parameters = bucket;
    const Accounted a(job);
    return std::pair(step_workspace(job, a.plans[0]), a.plans[0].parameters.elements);
  };
  CHECK(copied(1e6, false, 16).first == doctest::Approx(6e6));
  const auto [all, parameters] = copied(1e15, false, 16);
  CHECK(all == doctest::Approx(6 * parameters));
  CHECK(copied(1e6, true, 16).first < 6e6);
  CHECK(copied(1e6, false, 1).first == copied(1e6, true, 1).first);
}

TEST_CASE("the step comes behind the passes: the larger of the two is the peak") {
  Strategy strategy;
  strategy.data = 16;
  const auto peak = [&](int micro_batch) {
    strategy.micro_batch = micro_batch;
    const Accounted a(small_job(8, 2, strategy, 16L * micro_batch));
    const double state = resident_memory(a.job, a.blocks, a.plans[0]).total();
    return std::pair(a.memory[0].peak.total() - state, step_workspace(a.job, a.plans[0]));
  };
  const auto [small, copy] = peak(1);
  const auto [large, same_copy] = peak(64);
  CHECK(small >= copy);
  CHECK(copy == same_copy);
  CHECK(large > 32 * copy / 2);
}

TEST_CASE("groups of recomputed layers keep one input each; backward has the activations of a whole group") {
  constexpr int layers = 8;
  const auto chunk = [&](Recompute recompute, RecomputeMethod method, int number) {
    Strategy strategy;
    strategy.data = 16;
    strategy.recompute = recompute;
    strategy.recompute_method = method;
    strategy.recompute_layers = number;
    const Accounted a(small_job(layers, 2, strategy, 16));
    return chunk_memory(a.job, memory_of_blocks(a.job, a.blocks), a.plans[0].chunks[0], 2);
  };
  const ChunkMemory none = chunk(Recompute::none, RecomputeMethod::block, 0);
  const ChunkMemory all = chunk(Recompute::full, RecomputeMethod::block, 0);
  const double input = (all.kept - chunk(Recompute::full, RecomputeMethod::uniform, layers).kept) / (layers - 1);
  CHECK(input == doctest::Approx(2.0 * 512 * 1024));  // 16-bit tokens of a microbatch
  const double layer = (none.kept - all.kept) / layers + input;
  for (const int own : {1, 2, 3, 5, 8, 100}) {
    CAPTURE(own);
    const ChunkMemory groups = chunk(Recompute::full, RecomputeMethod::uniform, own);
    const int count = (layers + own - 1) / own;
    CHECK(groups.kept == doctest::Approx(all.kept - (layers - count) * input));
    // The last group that has all its layers, while the last of these runs backward; groups behind it are freed.
    const int whole = std::min(own, layers);
    const int before = layers / whole - 1;
    if (own > 1) {
      CHECK(groups.kept + groups.backward.bytes() >= before * input + whole * layer);
      CHECK(groups.kept + groups.backward.bytes() <= none.kept + none.backward.bytes());
    } else {
      CHECK(groups.kept + groups.backward.bytes() == doctest::Approx(all.kept + all.backward.bytes()));
    }
  }
  // In one group, all that is kept without recomputation is there again, but what the head keeps.
  const ChunkMemory one = chunk(Recompute::full, RecomputeMethod::uniform, layers);
  CHECK(one.kept + one.backward.bytes() >= layers * layer);
}

TEST_CASE("groups of recomputed layers take as long as all layers one by one") {
  for (const int pipeline : {1, 2}) {
    Strategy strategy;
    strategy.pipeline = pipeline;
    strategy.data = 16 / pipeline;
    strategy.recompute = Recompute::full;
    const auto seconds = [&](RecomputeMethod method, int number, const LoweringOptions& options = {}) {
      strategy.recompute_method = method;
      strategy.recompute_layers = number;
      return simulate(small_job(8, 2, strategy, 64), options).result.iteration_time_s;
    };
    const double all = seconds(RecomputeMethod::block, 0);
    CHECK(seconds(RecomputeMethod::uniform, 1) == all);
    CHECK(seconds(RecomputeMethod::uniform, 3) == all);
    CHECK(seconds(RecomputeMethod::uniform, 3, {true, false}) == all);
    CHECK(seconds(RecomputeMethod::uniform, 3, {false, true}) == doctest::Approx(all).epsilon(1e-9));
    CHECK(seconds(RecomputeMethod::block, 3) < all);
  }
}

TEST_CASE("offloaded layers keep nothing on the device between their passes") {
  Strategy strategy;
  strategy.data = 16;
  const auto activations = [&](int layers) {
    strategy.offload_layers = layers;
    return Accounted(small_job(8, 2, strategy, 16)).memory[0].peak.activations;
  };
  const double all = activations(0);
  const double layer = (all - activations(4)) / 4;
  CHECK(layer > 0);
  CHECK(activations(6) == doctest::Approx(all - 6 * layer));
  CHECK(Accounted(small_job(8, 2, {}, 16)).blocks.layer().kept_bytes == doctest::Approx(layer));
}

TEST_CASE("context ranks hold the same parameters, share the optimizer state, and divide activations and buffers") {
  const auto peak = [](int context) {
    Strategy strategy;
    strategy.context = context;
    strategy.pipeline = 2;
    strategy.data = 8 / context;
    strategy.zero = 1;
    Job job = small_job(8, 2, strategy, 16 / context);
    job.framework = test::framework_named("megatron-core");
    return Accounted(job).memory[0].peak;
  };
  const MemoryUse alone = peak(1);
  const MemoryUse four = peak(4);
  CHECK(four.parameters == alone.parameters);
  CHECK(four.optimizer == alone.optimizer);
  CHECK(four.activations == doctest::Approx(alone.activations / 4).epsilon(1e-12));
  CHECK(four.communication == alone.communication / 4);
}

TEST_CASE("parameters of all stages and tensor ranks are the model's, tied copies and replicated norms beside") {
  for (const int tensor : {1, 4}) {
    for (const int pipeline : {1, 4}) {
      Strategy strategy;
      strategy.tensor = tensor;
      strategy.pipeline = pipeline;
      strategy.data = 16 / tensor / pipeline;
      const Accounted a(small_job(8, 2, strategy, 16));
      double found = 0;
      for (const StagePlan& plan : a.plans) found += plan.parameters.elements * tensor;
      const double total = count_parameters(a.job.model).total;
      // Replicated over tensor ranks: two norms of 2 h and two biases of h per layer, the final norm 2 h and the
      // position embedding; held twice with stages: the word embedding.
      const double replicated = 8 * 6 * 1024.0 + 2 * 1024 + 512 * 1024.0;
      const double expected = total + (tensor - 1) * replicated + (pipeline > 1 ? 8192 * 1024.0 : 0);
      CHECK(found == doctest::Approx(expected).epsilon(1e-12));
    }
  }
}

TEST_CASE("activations: as many microbatches as the schedule holds, the interleaved factor included") {
  Strategy strategy;
  strategy.pipeline = 4;
  strategy.data = 4;
  const auto activations = [&](ScheduleId schedule, int chunks) {
    strategy.schedule = schedule;
    strategy.virtual_pipeline = chunks;
    const Accounted a(small_job(8, 2, strategy, 64));  // 16 microbatches
    return a.memory[0].peak.activations;
  };
  strategy.recompute = Recompute::none;
  const double embedding_share = [&] {
    const Accounted a(small_job(8, 2, strategy, 64));
    return a.blocks.embedding().kept_bytes;
  }();
  const double one_f = activations(schedule_named("1f1b"), 1);
  const double layers_of_one_microbatch = one_f / 4 - embedding_share;
  CHECK(activations(schedule_named("gpipe"), 1) == doctest::Approx(4 * one_f));
  // 1 + (p - 1)/(p v) = 1 + 3/8 of 1F1B's p microbatches, for the layers; the embedding is in chunk 0 only.
  const double interleaved = activations(schedule_named("interleaved-1f1b"), 2);
  CHECK(interleaved - 7 * embedding_share ==
        doctest::Approx(4 * (1 + 3.0 / 8) * layers_of_one_microbatch).epsilon(0.02));
}

TEST_CASE("recomputation trades activations for workspace") {
  Strategy strategy;
  strategy.pipeline = 2;
  strategy.data = 8;
  const auto peak = [&](Recompute recompute) {
    strategy.recompute = recompute;
    return Accounted(small_job(8, 2, strategy, 64)).memory[0].peak;
  };
  const MemoryUse none = peak(Recompute::none);
  const MemoryUse selective = peak(Recompute::selective);
  const MemoryUse full = peak(Recompute::full);
  CHECK(none.activations > selective.activations);
  CHECK(selective.activations > full.activations);
  CHECK(full.workspace > selective.workspace);
  CHECK(selective.workspace > none.workspace);
  CHECK(full.total() < none.total());
}
