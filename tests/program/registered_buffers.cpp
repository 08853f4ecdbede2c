// Registered buffers: collectives of replicas hold fewer multiprocessors, take as long, and stay in memory.

#include "job_fixture.hpp"
#include "program/data_parallel.hpp"
#include "program/memory.hpp"
#include "program/unit_memory.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

namespace registered_buffers_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

Job job_on(const char* node, const char* framework, int zero, bool registered) {
  Strategy strategy = sized(1, 16, 1);
  strategy.zero = zero;
  strategy.overlap_grad_reduce = zero == 1;
  strategy.overlap_param_gather = zero == 1;
  strategy.registered_buffers = registered;
  Job job = small_job(4, 2, strategy, 32);
  job.cluster = cluster_of(node, 2);
  job.training.framework = framework;
  job.framework = framework_named(framework);
  job.framework.sharding.bucket_parameters = 10e6;
  return job;
}

double seconds(const Job& job) { return simulate(job).result.iteration_time_s; }

}  // namespace

TEST_CASE("gathers and reductions over nodes whose switches reduce hold 16 multiprocessors at most, and take as long") {
  const Lowered plain(job_on("hgx-h100", "megatron-core", 1, false));
  const Lowered held(job_on("hgx-h100", "megatron-core", 1, true));
  const auto of = [](const Lowered& lowered, const std::vector<ReplicaCollective>& all) {
    return price(all.front(), lowered.plans[0].costs);
  };
  const auto gather = [&](const Lowered& lowered) {
    return of(lowered, parameter_gather(lowered.job, lowered.plans[0].parameters, {40e6, 0}));
  };
  const auto reduction = [&](const Lowered& lowered) {
    return of(lowered, gradient_reduction(lowered.job, {40e6, 0}));
  };
  CHECK(gather(held).multiprocessors == std::min(gather(plain).multiprocessors, 16));
  CHECK(reduction(held).multiprocessors == std::min(reduction(plain).multiprocessors, 16));
  CHECK(gather(held).seconds == gather(plain).seconds);
  CHECK(reduction(held).seconds == reduction(plain).seconds);
}

TEST_CASE(
    "kernels lose less beside registered collectives of one node, and nothing changes without reducing switches") {
  const auto alone = [](const char* node, bool registered) {
    Job job = job_on(node, "megatron-core", 1, registered);
    job.strategy.data = 8;
    job.cluster = cluster_of(node, 1);
    return job;
  };
  CHECK(seconds(alone("hgx-h100", true)) < seconds(alone("hgx-h100", false)));
  CHECK(seconds(alone("dgx-a100-80g", true)) == seconds(alone("dgx-a100-80g", false)));
}

TEST_CASE("blocks that are gathered in turn have two buffers of parameters and two of gradients that stay") {
  const auto units = [](bool registered) {
    const Lowered lowered(job_on("hgx-h100", "megatron-fsdp", 3, registered));
    const StagePlan& plan = lowered.plans[0];
    return std::pair(unit_memory(lowered.job, plan.chunks[0], plan.parameters.gathered_bytes_per_element),
                     plan.chunks[0].parameters_of(1));
  };
  const auto [plain, layer] = units(false);
  const auto [kept, same] = units(true);
  REQUIRE(plain.size() == kept.size());
  // Two buffers of a layer in bf16, and two of its gradients in fp32.
  for (std::size_t i = 1; i + 1 < kept.size(); ++i) {
    CHECK(kept[i].forward >= 2 * layer * 2 + 2 * layer * 4);
    CHECK(kept[i].backward >= 2 * layer * 2 + 2 * layer * 4);
    CHECK(kept[i].reduced < plain[i].reduced);
  }
  CHECK(same == layer);
}

TEST_CASE("a pool of registered buffers keeps the most that is gathered and the largest buffer of gradients") {
  const auto units = [](bool registered) {
    const Lowered lowered(job_on("hgx-h100", "torchtitan", 3, registered));
    const StagePlan& plan = lowered.plans[0];
    return unit_memory(lowered.job, plan.chunks[0], plan.parameters.gathered_bytes_per_element);
  };
  const std::vector<UnitMemory> plain = units(false);
  const std::vector<UnitMemory> kept = units(true);
  REQUIRE(plain.size() == kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    CHECK(kept[i].forward == kept[0].forward);
    CHECK(kept[i].backward == kept[0].forward);
    CHECK(kept[i].forward + kept[i].reduced >= plain[i].forward + plain[i].reduced);
    CHECK(kept[i].backward + kept[i].reduced >= plain[i].backward + plain[i].reduced);
  }
}

}  // namespace registered_buffers_test
