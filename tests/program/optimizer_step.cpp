#include "program/optimizer_step.hpp"

#include "job_fixture.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

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
}

TEST_CASE("a step that costs time per parameter does so where state is divided over replicas only") {
  const auto seconds = [](int zero, double per_parameter) {
    Strategy strategy;
    strategy.data = 16;
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
}

TEST_CASE("a sharded optimizer steps its shard") {
  const double whole = step(Optimizer::adam, 0).bytes;
  CHECK(step(Optimizer::adam, 1).bytes == doctest::Approx(whole / 16));
  CHECK(step(Optimizer::adam, 1, 4).bytes == doctest::Approx(whole / 4));
}
