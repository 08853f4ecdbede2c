#include "program/optimizer_step.hpp"

#include "job_fixture.hpp"
#include "program/data_parallel.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

namespace optimizer_step_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

FoldedBody step(Optimizer optimizer, int zero, int group = 0) {
  Strategy strategy;
  strategy.data = 16;
  strategy.zero = zero;
  strategy.zero_group = group;
  Job job = small_job(8, 2, strategy, 16);
  job.training.optimizer = optimizer;
  job.framework = test::framework_named("megatron-core");
  const ShardedBlocks blocks = shard_blocks(job);
  return optimizer_body(job, plan_stages(job, blocks).front());
}

}  // namespace

TEST_CASE("bytes of a step: Adam 34 per parameter, SGD without a moment's read and write, LAMB with two norms more") {
  const double adam = step(Optimizer::adam, 0).bytes;
  CHECK(step(Optimizer::sgd, 0).bytes == doctest::Approx(adam * 26 / 34));
  CHECK(step(Optimizer::lamb, 0).bytes == doctest::Approx(adam * 54 / 34));
  CHECK(step(Optimizer::none, 0).device == 0);
  // Both moments are read and written: 4 times 3 bytes less, but for a scale of 4 bytes for 256 elements.
  CHECK(step(Optimizer::adam_8bit, 0).bytes == doctest::Approx(adam * (34 - 4 * (3 - 4 / 256.0)) / 34));
  // No moment is read or written, and the gradient is read twice more.
  CHECK(step(Optimizer::adafactor, 0).bytes == doctest::Approx(adam * 26 / 34));
}

TEST_CASE("bytes of state: Adam keeps 12 per parameter, Adafactor the master copy alone") {
  Job job = small_job(8, 2, {}, 16);
  job.framework = test::framework_named("megatron-core");
  const ShardedBlocks blocks = shard_blocks(job);
  const StageParameters parameters = plan_stages(job, blocks).front().parameters;
  CHECK(optimizer_bytes(job, parameters) == 12);
  job.training.optimizer = Optimizer::adafactor;
  CHECK(optimizer_bytes(job, parameters) == 4);
}

TEST_CASE("projected gradients: states of r times the longer side, a projector, two products, and searches") {
  Job job = small_job(8, 1, sized(1, 8, 1), 16);
  job.framework = test::framework_named("huggingface");
  const auto planned = [](const Job& of) { return plan_stages(of, shard_blocks(of)).front(); };
  const StagePlan whole = planned(job);
  const double state = optimizer_bytes(job, whole.parameters) * whole.parameters.elements;
  job.training.low_rank_gradients = {128, 100};
  const StagePlan low = planned(job);
  // Layers of h = 1024, products apart: queries, keys, values and the output of h x h, the MLP's two of h x 4 h.
  const double h = 1024;
  CHECK(low.parameters.low_rank.elements == 8 * 12 * h * h);
  CHECK(low.parameters.low_rank.projected == 8 * 128 * (4 * 1 + 2 * 4) * h);
  CHECK(low.parameters.low_rank.projectors == 8 * 128 * 6 * h);
  CHECK(optimizer_bytes(job, low.parameters) * low.parameters.elements ==
        doctest::Approx(state - 8 * 8 * 12 * h * h + 8 * 8 * 128 * 12 * h + gradient_bytes(job) * 8 * 128 * 6 * h));
  const LowRankStep step = low_rank_step(low);
  CHECK(step.flop == doctest::Approx(8 * 2 * 2 * 128 * 12 * h * h));
  CHECK(step.search_s == doctest::Approx(8 * 12 * h * h * h * 70 / 2.47e12));  // m^2 n of each
  CHECK(step.seconds > step.search_s / 100);
  job.training.low_rank_gradients.every = 10;
  const LowRankStep often = low_rank_step(planned(job));
  CHECK(often.seconds - step.seconds == doctest::Approx(step.search_s * (1.0 / 10 - 1.0 / 100)));
}

TEST_CASE("quantized projectors take a byte a value, with two values for 256, and are made whole for both products") {
  Job job = small_job(8, 1, sized(1, 8, 1), 16);
  job.framework = test::framework_named("huggingface");
  job.training.low_rank_gradients = {128, 100};
  const auto planned = [](const Job& of) { return plan_stages(of, shard_blocks(of)).front(); };
  const StageParameters whole = planned(job).parameters;
  const double state = optimizer_bytes(job, whole);
  const double moved = optimizer_traffic_bytes(job, whole);
  job.training.low_rank_gradients.quantized_projectors = true;
  const double width = gradient_bytes(job);
  const double projectors = whole.low_rank.projectors;
  CHECK((state - optimizer_bytes(job, whole)) * whole.elements ==
        doctest::Approx((width - 1 - width / 128) * projectors));
  CHECK((optimizer_traffic_bytes(job, whole) - moved) * whole.elements ==
        doctest::Approx(2 * (1 + 5 * width) * projectors));
}

TEST_CASE("states of fewer bytes: a byte less of each parameter's state for each, read and written in a step") {
  Job job = small_job(8, 2, {}, 16);
  job.framework = test::framework_named("megatron-core");
  const StageParameters parameters = plan_stages(job, shard_blocks(job)).front().parameters;
  const double traffic = optimizer_traffic_bytes(job, parameters);
  job.training.first_moment = "bf16";
  CHECK(optimizer_bytes(job, parameters) == 12 - 2);
  job.training.second_moment = "fp8";
  CHECK(optimizer_bytes(job, parameters) == 12 - 2 - 3);
  job.training.main_parameters = "fp16";
  CHECK(optimizer_bytes(job, parameters) == 12 - 2 - 3 - 2);
  CHECK(optimizer_traffic_bytes(job, parameters) == traffic - 2 * (2 + 3 + 2));
  job.training.precision = "fp32";  // the parameters are the copy that is updated
  CHECK(optimizer_bytes(job, parameters) == 8 - 2 - 3);
}

TEST_CASE("Muon: layers' matrices keep one moment, and each takes 5 (4 m^2 n + 2 m^3) FLOP to be made orthogonal") {
  Strategy strategy;
  strategy.data = 4;
  Job job = small_job(8, 2, strategy, 16);
  job.framework = test::framework_named("megatron-core");
  job.training.optimizer = Optimizer::muon;
  const auto plan_of = [&] { return plan_stages(job, shard_blocks(job)).front(); };
  const StagePlan whole = plan_of();
  const auto h = static_cast<double>(job.model.hidden);
  const auto f = static_cast<double>(job.model.ffn);
  const auto layers = static_cast<double>(job.model.layers);
  REQUIRE(job.model.kv_heads == job.model.heads);
  // Queries, keys and values packed, the output projection, and the two of the MLP.
  CHECK(whole.parameters.matrix_elements == layers * (4 * h * h + 2 * h * f));
  const auto flop = [](double m, double n) { return 5 * (4 * m * m * n + 2 * m * m * m); };
  const FoldedBody matrices = orthogonalization_body(job, whole);
  CHECK(matrices.flop == doctest::Approx(layers * (flop(h, 3 * h) + flop(h, h) + 2 * flop(h, f))));

  job.training.optimizer = Optimizer::adam;
  CHECK(orthogonalization_body(job, plan_of()).device == 0);
  const double adam = optimizer_bytes(job, whole.parameters);
  job.training.optimizer = Optimizer::muon;
  CHECK(optimizer_bytes(job, whole.parameters) ==
        doctest::Approx(adam - 4 * whole.parameters.matrix_elements / whole.parameters.elements));

  // Whole matrices are divided over replicas, of 32 at least one.
  job.strategy.zero = 1;
  CHECK(orthogonalization_body(job, plan_of()).flop == doctest::Approx(matrices.flop / 4));
  const double share = to_seconds(orthogonalization_body(job, plan_of()).device) / to_seconds(matrices.device);
  CHECK(share >= 0.25 * (1 - 1e-9));
  CHECK(share < 0.5);
}

TEST_CASE("a step that costs time per parameter does so where state is divided over replicas, beside stages only") {
  const auto seconds = [](int zero, double per_parameter, int stages = 2) {
    Strategy strategy;
    strategy.data = 16 / stages;
    strategy.pipeline = stages;
    strategy.zero = zero;
    Job job = small_job(8, 2, strategy, 16);
    job.framework.sharding.step_s_per_parameter = per_parameter;
    const ShardedBlocks blocks = shard_blocks(job);
    const StagePlan stage = plan_stages(job, blocks).front();
    return std::pair(to_seconds(optimizer_body(job, stage).device), stage.parameters.elements);
  };
  const auto [plain, parameters] = seconds(1, 0);
  CHECK(seconds(1, 2e-9).first - plain == doctest::Approx(2e-9 * parameters));
  CHECK(seconds(0, 2e-9) == seconds(0, 0));
  CHECK(seconds(1, 2e-9, 1) == seconds(1, 0, 1));
}

TEST_CASE("the host's step: for each tensor of a stage, and for each rank's piece of what was gathered behind it") {
  const auto host_of = [](int zero, double tensor_s, double piece_s) {
    Strategy strategy;
    strategy.data = 16;
    strategy.zero = zero;
    Job job = small_job(8, 2, strategy, 16);
    job.framework.host.step_s = 1e-3;
    job.framework.host.stall_s = 0;
    job.framework.host.step_tensor_s = tensor_s;
    job.framework.host.step_piece_s = piece_s;
    const ShardedBlocks blocks = shard_blocks(job);
    const StagePlan stage = plan_stages(job, blocks).front();
    CHECK(to_seconds(optimizer_body(job, stage).lead) == doctest::Approx(host_step_seconds(job, stage.parameters)));
    return std::pair(host_step_seconds(job, stage.parameters), stage.parameters.tensors);
  };
  const int tensors = host_of(0, 0, 0).second;
  REQUIRE(tensors > 8 * 8);  // two norms and four products with their biases in each layer
  CHECK(host_of(0, 0, 5e-6).first == doctest::Approx(1e-3));  // nothing is gathered
  CHECK(host_of(0, 1e-4, 0).first == doctest::Approx(1e-3 + tensors * 1e-4));
  CHECK(host_of(1, 1e-4, 5e-6).first == doctest::Approx(1e-3 + tensors * (1e-4 + 16 * 5e-6)));
  CHECK(host_of(3, 0, 5e-6).first == doctest::Approx(1e-3));  // gathered beside passes
}

TEST_CASE("a framework may overlap the reductions of low stages of ZeRO only") {
  Strategy strategy;
  strategy.data = 16;
  strategy.overlap_grad_reduce = true;
  for (const int zero : {0, 1}) {
    strategy.zero = zero;
    Job job = small_job(8, 2, strategy, 16);
    CHECK(data_parallel_plan(job).reduce == DataParallelPlan::Reduce::last_backward);
    job.framework.sharding.max_zero_with_overlap = 0;
    const auto expected = zero == 0 ? DataParallelPlan::Reduce::last_backward : DataParallelPlan::Reduce::at_end;
    CHECK(data_parallel_plan(job).reduce == expected);
  }
}

TEST_CASE("a sharded optimizer steps its shard") {
  const double whole = step(Optimizer::adam, 0).bytes;
  CHECK(step(Optimizer::adam, 1).bytes == doctest::Approx(whole / 16));
  CHECK(step(Optimizer::adam, 1, 4).bytes == doctest::Approx(whole / 4));
}

}  // namespace optimizer_step_test
