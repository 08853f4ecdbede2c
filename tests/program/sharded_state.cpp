// Bytes of state per parameter under every ZeRO stage (arXiv 1910.02054, figure 1).

#include "program/sharded_state.hpp"

#include "job_fixture.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

MemoryUse state_of(const char* framework, int zero, int group, double& parameters) {
  Strategy strategy;
  strategy.data = 16;
  strategy.zero = zero;
  strategy.zero_group = group;
  Job job = small_job(8, 2, strategy, 16);
  job.training.framework = framework;
  job.framework = test::framework_named(framework);
  const ShardedBlocks blocks = shard_blocks(job);
  const std::vector<StagePlan> plans = plan_stages(job, blocks);
  parameters = plans[0].parameters.elements;
  return sharded_state(job, plans[0]);
}

double per_parameter(const char* framework, int zero, int group = 0) {
  double parameters = 0;
  const MemoryUse use = state_of(framework, zero, group, parameters);
  return (use.parameters + use.gradients + use.optimizer) / parameters;
}

}  // namespace

TEST_CASE("DeepSpeed: 16, 4 + 12/N, 2 + 14/N and 16/N bytes per parameter") {
  CHECK(per_parameter("deepspeed", 0) == doctest::Approx(16));
  CHECK(per_parameter("deepspeed", 1) == doctest::Approx(4 + 12.0 / 16));
  CHECK(per_parameter("deepspeed", 2) == doctest::Approx(2 + 14.0 / 16));
  CHECK(per_parameter("deepspeed", 3) == doctest::Approx(16.0 / 16));
}

TEST_CASE("a sharding group of 4 divides by 4, whatever the replicas") {
  CHECK(per_parameter("deepspeed", 3, 4) == doctest::Approx(16.0 / 4));
  CHECK(per_parameter("pytorch-fsdp", 3, 4) == doctest::Approx(16.0 / 4));
}

TEST_CASE("FSDP's fp32 shards: 4 of parameters, 4 of gradients, 8 of moments, over N") {
  double parameters = 0;
  const MemoryUse use = state_of("pytorch-fsdp", 3, 0, parameters);
  CHECK(use.parameters == doctest::Approx(4 * parameters / 16));
  CHECK(use.gradients == doctest::Approx(4 * parameters / 16));
  CHECK(use.optimizer == doctest::Approx(8 * parameters / 16));
}

TEST_CASE("a framework that gathers single parameters holds no whole layers of a large model") {
  // hidden 1024: 1e9 parameters that are used again soon are more than all, so layers decide as above; few are not.
  Strategy strategy;
  strategy.data = 16;
  strategy.zero = 3;
  Job job = small_job(8, 2, strategy, 16);
  job.framework = test::framework_named("deepspeed");
  const auto gathered = [&](double reuse, double bucket) {
    job.framework.sharding.reuse_parameters = reuse;
    job.framework.sharding.bucket_parameters = bucket;
    const ShardedBlocks blocks = shard_blocks(job);
    return sharded_state(job, plan_stages(job, blocks)[0]).gathered;
  };
  constexpr double embedding = 8192 * 1024.0;  // the largest parameter
  CHECK(gathered(1e6, 1e5) == doctest::Approx(2 * (1e6 + embedding) + 2 * (1e5 + embedding)));
  CHECK(gathered(1e9, 1e9) > gathered(1e6, 1e5));
}

TEST_CASE("what is gathered block by block comes and goes with its passes, unless stage 2 keeps all of it") {
  double parameters = 0;
  CHECK(state_of("pytorch-fsdp", 3, 0, parameters).gathered == 0);
  CHECK(state_of("pytorch-fsdp", 2, 0, parameters).gathered == doctest::Approx(2 * parameters));
}
