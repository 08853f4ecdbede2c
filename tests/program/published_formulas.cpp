// Published closed forms that the whole chain must reproduce where their assumptions hold.

#include "job_fixture.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

TEST_CASE("hardware FLOPs with full recomputation: 96 B s l h^2 (1 + s/6h + V/16lh) (arXiv 2104.04473, eq. 3)") {
  for (const int tensor : {1, 2, 8}) {
    Strategy strategy;
    strategy.tensor = tensor;
    strategy.data = 16 / tensor;
    strategy.recompute = Recompute::full;
    const auto simulation = simulate(small_job(8, 2, strategy, 32));
    const double B = 32, s = 512, l = 8, h = 1024, V = 8192;
    const double expected = 96 * B * s * l * h * h * (1 + s / (6 * h) + V / (16 * l * h));
    CHECK(simulation.result.hardware_flop == doctest::Approx(expected).epsilon(1e-12));
    // Model FLOPs: the same without the fourth quarter of the layers.
    const double model = 72 * B * s * l * h * h * (1 + s / (6 * h)) + 6 * B * s * h * V;
    CHECK(simulation.result.model_flop == doctest::Approx(model).epsilon(1e-12));
  }
}

TEST_CASE("context ranks divide the work: together they execute as many FLOPs as one") {
  const auto flop = [](int context, ContextCommunication communication) {
    Strategy strategy;
    strategy.context = context;
    strategy.context_communication = communication;
    strategy.data = 16 / context;
    Job job = small_job(8, 2, strategy, 32);
    job.framework = test::framework_named("megatron-core");
    return simulate(job).result.hardware_flop;
  };
  const double alone = flop(1, ContextCommunication::p2p);
  for (const auto how :
       {ContextCommunication::p2p, ContextCommunication::all_gather, ContextCommunication::all_to_all}) {
    for (const int context : {2, 4, 8}) CHECK(flop(context, how) == doctest::Approx(alone).epsilon(1e-12));
  }
}

TEST_CASE("overlapped tensor communication hides behind products and changes no FLOP") {
  const auto result = [](bool overlap) {
    Strategy strategy;
    strategy.tensor = 8;
    strategy.data = 2;
    strategy.sequence_parallel = true;
    strategy.overlap_tensor = overlap;
    Job job = small_job(8, 2, strategy, 32);
    job.model.hidden = 8192;
    job.model.ffn = 32768;
    job.model.head_dim = 512;
    job.training.sequence_length = 2048;
    job.framework = test::framework_named("megatron-core");
    return simulate(job).result;
  };
  const IterationResult plain = result(false);
  const IterationResult overlapped = result(true);
  CHECK(overlapped.hardware_flop == plain.hardware_flop);
  CHECK(overlapped.iteration_time_s < plain.iteration_time_s);
  const auto exposed = static_cast<std::size_t>(Activity::tensor_communication);
  CHECK(overlapped.activity_s[exposed] < plain.activity_s[exposed]);
}

TEST_CASE("recomputing some layers of each chunk lies between none and all, by their share") {
  const auto result = [](Recompute recompute, int layers) {
    Strategy strategy;
    strategy.pipeline = 2;
    strategy.data = 8;
    strategy.recompute = recompute;
    strategy.recompute_layers = layers;
    return simulate(small_job(8, 2, strategy, 32)).result;
  };
  const IterationResult none = result(Recompute::none, 0);
  const IterationResult all = result(Recompute::full, 0);
  CHECK(result(Recompute::full, 4).hardware_flop == all.hardware_flop);
  CHECK(result(Recompute::full, 4).iteration_time_s == all.iteration_time_s);
  const IterationResult one = result(Recompute::full, 1);
  const double share = (one.hardware_flop - none.hardware_flop) / (all.hardware_flop - none.hardware_flop);
  CHECK(share == doctest::Approx(1.0 / 4).epsilon(1e-12));
  const auto activations = [](const IterationResult& r) { return r.stages[0].memory.peak.activations; };
  CHECK(activations(one) < activations(none));
  CHECK(activations(one) > activations(all));
}

TEST_CASE("uniform stages and free communication: 1F1B (m + p - 1)(f + b), interleaved (m + (p - 1)/v)(f + b)") {
  for (const int p : {2, 4, 8}) {
    for (const int v : {1, 2, 4}) {
      Strategy strategy;
      strategy.pipeline = p;
      strategy.virtual_pipeline = v;
      strategy.data = 16 / p;
      strategy.schedule = v > 1 ? schedule_named("interleaved-1f1b") : schedule_named("1f1b");
      const int m = 4 * p;
      const Job job = free_communication(small_job(32, 2, strategy, static_cast<std::int64_t>(m) * strategy.data));
      const ShardedBlocks blocks = shard_blocks(job);
      std::vector<StagePlan> plans = plan_stages(job, blocks);
      for (StagePlan& plan : plans) {
        plan.parameters = {};  // no optimizer step, no tied embedding
        for (ChunkPlan& chunk : plan.chunks) {
          std::erase_if(chunk.runs, [&](const BlockRun& run) { return run.block != blocks.layer_id(0); });
        }
      }
      // Times of a chunk: a stage's f and b are v times these, so m (f + b) is m v of them, (p - 1)/v (f + b) is p - 1.
      const Picoseconds f = plans[0].folded(plans[0].chunks[0], Pass::Kind::forward).device;
      const Picoseconds b = plans[0].folded(plans[0].chunks[0], Pass::Kind::backward).device;
      const Picoseconds optimizer = to_picoseconds(plans[0].costs.kernels.price_memory_bound(0).seconds);
      CHECK(execute(lower(job, blocks, plans)).makespan == (m * v + p - 1) * (f + b) + optimizer);
    }
  }
}

TEST_CASE("GPipe takes as long as 1F1B and keeps more") {
  Strategy strategy;
  strategy.pipeline = 4;
  strategy.data = 4;
  const auto one = simulate(free_communication(small_job(8, 2, strategy, 64)));
  strategy.schedule = schedule_named("gpipe");
  const auto all = simulate(free_communication(small_job(8, 2, strategy, 64)));
  CHECK(all.result.iteration_time_s == doctest::Approx(one.result.iteration_time_s).epsilon(0.02));
  CHECK(all.result.stages[0].memory.peak.activations > one.result.stages[0].memory.peak.activations);
}
