// The host's share of a pass: what it issues kernel by kernel, what a CUDA graph spares it, and what a pass costs it
// beside kernels.

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "model/model_loader.hpp"
#include "program/lowering.hpp"
#include "support/frameworks.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace host_work_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

Job eager_job() {
  Strategy strategy;
  strategy.tensor = 2;
  strategy.pipeline = 2;
  strategy.data = 2;
  Job job = small_job(4, 1, strategy, 16);
  job.framework.host.forward_s = 50e-6;
  job.framework.host.backward_s = 40e-6;
  job.framework.host.collective_s = 30e-6;
  job.framework.host.peer_s = 0;
  job.framework.host.waits_for_passes = false;
  job.framework.host.graph_s = 25e-6;
  return job;
}

FoldedBody forward_layer(const Job& job) {
  const ShardedBlocks blocks = shard_blocks(job);
  const std::vector<StagePlan> stages = plan_stages(job, blocks);
  return stages.front().bodies_of(blocks.layer_id(0)).folded_forward;
}

// One layer of Llama as Transformers runs it on each of 8 GPUs, whose host takes 1 us forward and 1 ms backward a
// kernel.
Job layer_of_transformers(const LowRankAdapters& adapters) {
  Strategy strategy;
  strategy.data = 8;
  Job job = small_job(1, 1, strategy, 8);
  job.model = load_model("llama2-7b", std::string(source_root()) + "/models", {});
  job.framework = framework_named("huggingface");
  job.framework.kernels.casts_weights = false;  // a model in bf16
  job.framework.host.forward_s = 1e-6;
  job.framework.host.backward_s = 1e-3;
  job.training.precision = "bf16";
  job.training.adapters = adapters;
  return job;
}

double seconds(const Job& job, bool operators) {
  const ShardedBlocks blocks = shard_blocks(job);
  const std::vector<StagePlan> stages = plan_stages(job, blocks);
  LoweringOptions options;
  options.operators = operators;
  return to_seconds(execute(lower(job, blocks, stages, options)).makespan);
}

}  // namespace

TEST_CASE("a captured layer costs the host one launch, a captured iteration nothing") {
  Job job = eager_job();
  const Picoseconds eager = forward_layer(job).host;
  // A layer as Megatron-LM of 2021 fuses it, without dropout: 2 norms, 4 linear products, QKV's bias, the activation, 2
  // residual sums; attention's 2 products, its softmax and the copy of its heads. And 2 collectives.
  CHECK(eager == to_picoseconds(14 * 50e-6 + 2 * 30e-6));
  job.training.cuda_graphs.attention = job.training.cuda_graphs.mlp = true;
  CHECK(forward_layer(job).host == to_picoseconds(25e-6));
  job.training.cuda_graphs = {};
  job.training.cuda_graphs.iteration = true;
  CHECK(forward_layer(job).host == 0);
}

// Counted in a run of modeling_llama.py (Transformers 4.46.3, PyTorch 2.5.1, PEFT 0.13.2) by its dispatch, of 3 layers
// less 1: 38 kernels forward and 84 backward, of which 2 lay out tensors beside attention on a CPU, and 2 add up
// gradients of norms; with adapters beside all 7 products under autocast 94 and 148, 2 of them such layouts.
TEST_CASE("a layer of Transformers, PEFT's adapters or not, costs the host what PyTorch dispatches") {
  const auto launches = [](const LowRankAdapters& adapters) {
    const Job job = layer_of_transformers(adapters);
    const ShardedBlocks blocks = shard_blocks(job);
    const std::vector<StagePlan> stages = plan_stages(job, blocks);
    const auto& bodies = stages.front().bodies_of(blocks.layer_id(0));
    return std::pair(std::llround(to_seconds(bodies.folded_forward.host) / 1e-6),
                     std::llround(to_seconds(bodies.folded_backward.host) / 1e-3));
  };
  CHECK(launches({}) == std::pair(38LL, 84LL - 2 - 2));
  CHECK(launches({8, 0, true, true, true, true}) == std::pair(94LL, 148LL - 2));
}

TEST_CASE("recomputing a layer costs the host its checkpoint beside its kernels") {
  Job job = layer_of_transformers({});
  const auto backward = [&] {
    const ShardedBlocks blocks = shard_blocks(job);
    const std::vector<StagePlan> stages = plan_stages(job, blocks);
    return to_seconds(stages.front().bodies_of(blocks.layer_id(0)).folded_backward.host);
  };
  job.framework.host.checkpoint_s = 5;
  const double kept = backward();
  job.strategy.recompute = Recompute::full;
  CHECK(backward() == doctest::Approx(kept + 5 + 38 * 1e-6).epsilon(1e-9));
}

TEST_CASE("capturing attention alone leaves the MLP to the host") {
  Job job = eager_job();
  const Picoseconds eager = forward_layer(job).host;
  job.training.cuda_graphs.attention = true;
  const Picoseconds attention = forward_layer(job).host;
  job.training.cuda_graphs = {};
  job.training.cuda_graphs.mlp = true;
  const Picoseconds mlp = forward_layer(job).host;
  // Each part's kernels are issued in exactly one of the two.
  CHECK(attention + mlp == eager + 2 * to_picoseconds(25e-6));
}

TEST_CASE("a captured router leaves the dispatch of rows to the host") {
  Strategy strategy;
  strategy.data = 8;
  strategy.expert = 8;
  Job job = small_job(4, 1, strategy, 16);
  job.model.mixture = {.experts = 8, .per_token = 2, .ffn = 512};
  job.framework.host = {};
  const auto host_s = [&](bool captured, double routing_s, double dispatch_s) {
    job.training.cuda_graphs.router = captured;
    job.framework.host.routing_s = routing_s;
    job.framework.host.dispatch_s = dispatch_s;
    return to_seconds(forward_layer(job).host);
  };
  CHECK(host_s(false, 2e-3, 0) - host_s(false, 0, 0) == doctest::Approx(2e-3));
  CHECK(host_s(false, 2e-3, 3e-3) - host_s(false, 0, 0) == doctest::Approx(5e-3));
  CHECK(host_s(true, 2e-3, 0) == host_s(true, 0, 0));
  CHECK(host_s(true, 2e-3, 3e-3) - host_s(true, 0, 0) == doctest::Approx(3e-3));
}

TEST_CASE("where launches block, the device waits for the host before each kernel, and the host issues nothing ahead") {
  Job job = eager_job();
  const FoldedBody ahead = forward_layer(job);
  job.training.blocking_launches = true;
  job.framework.host.blocking_s = 20e-6;
  const FoldedBody blocking = forward_layer(job);
  // 14 kernels and 2 collectives.
  CHECK(blocking.device == ahead.device + ahead.host + 16 * to_picoseconds(20e-6));
  CHECK(blocking.host == 0);
  const double waiting = blocking.activity_s[static_cast<std::size_t>(Activity::host)];
  CHECK(waiting <= to_seconds(blocking.device - ahead.device));
  CHECK(waiting >= 14 * (50e-6 + 20e-6) * (1 - 1e-9));
}

TEST_CASE("a collective costs the host more the more ranks it meets") {
  Job job = eager_job();
  const Picoseconds alone = forward_layer(job).host;
  job.framework.host.peer_s = 5e-6;
  CHECK(forward_layer(job).host == alone + 2 * to_picoseconds(5e-6));  // 2 collectives of 2 ranks
}

TEST_CASE("a host that waits for each pass hides none of its work behind the pass before") {
  Job job = eager_job();
  const double ahead = seconds(job, false);
  job.framework.host.waits_for_passes = true;
  const double waiting = seconds(job, false);
  CHECK(waiting >= ahead);
  CHECK(seconds(job, true) == waiting);
  job.framework.host.forward_s = job.framework.host.backward_s = job.framework.host.collective_s = 0;
  const double free_host = seconds(job, false);
  job.framework.host.waits_for_passes = false;
  CHECK(seconds(job, false) == free_host);
}

TEST_CASE("small kernels follow each other sooner in a graph") {
  Job job = eager_job();
  const Picoseconds eager = forward_layer(job).device;
  job.training.cuda_graphs.iteration = true;
  CHECK(forward_layer(job).device < eager);
}

TEST_CASE("work at the start of a pass holds every pass back where the host bounds, at both levels of detail") {
  Job job = eager_job();
  const double before = seconds(job, false);
  job.framework.host.pass_s = 1e-3;
  const double after = seconds(job, false);
  CHECK(seconds(job, true) == after);
  // 8 microbatches through 2 stages: at least the 8 forward and 8 backward passes of a stage, each 1 ms later.
  CHECK(after - before >= 16 * 1e-3 * 0.999);
  job.training.cuda_graphs.iteration = true;
  CHECK(seconds(job, true) < before);
}

TEST_CASE("a host that reads lengths of sequences waits once a layer, before fused attention, and never without it") {
  Job job = eager_job();
  const auto waits = [](const Job& of) {
    const ShardedBlocks blocks = shard_blocks(of);
    const std::vector<StagePlan> stages = plan_stages(of, blocks);
    const std::vector<BodyStep>& steps = stages.front().bodies_of(blocks.layer_id(0)).forward.steps;
    return std::count_if(steps.begin(), steps.end(), [](const BodyStep& step) { return step.host_waits; });
  };
  job.framework.fusion.attention = {"flash-2"};
  const auto before = waits(job);
  job.framework.host.waits_for_lengths = true;
  CHECK(waits(job) == before + 1);
  job.framework.fusion.attention = {};
  CHECK(waits(job) == before);
}

}  // namespace host_work_test
