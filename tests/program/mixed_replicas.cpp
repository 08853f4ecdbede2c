// Laws of data-parallel replicas of different make-up.

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "program/data_parallel.hpp"
#include "program/replica_classes.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <numeric>

namespace mixed_replicas_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

NodeAllotment nodes(const std::string& type, int count = 1) { return cluster_of(type, count).groups()[0]; }

Strategy strategy_of(int tensor, int pipeline, int chunks, int data) {
  Strategy s;
  s.tensor = tensor;
  s.pipeline = pipeline;
  s.virtual_pipeline = chunks;
  s.data = data;
  if (chunks > 1) s.schedule = schedule_named("interleaved-1f1b");
  return s;
}

// A job on a node of A100 and one of H100: every stage lies on both, or on one of them.
Job mixed_job(const Strategy& strategy, const char* framework = "megatron-core") {
  Job job = small_job(8, 1, strategy, 48);
  job.cluster = Cluster({nodes("dgx-a100-80g"), nodes("hgx-h100")}, default_fabric());
  job.training.framework = framework;
  job.framework = test::framework_named(framework);
  return job;
}

std::vector<Job> mixed_jobs() {
  std::vector<Job> out;
  const auto add = [&](Strategy s, int zero, bool overlap, std::vector<int> counts) {
    s.zero = zero;
    s.overlap_grad_reduce = overlap;
    s.overlap_param_gather = zero == 1 && overlap;
    s.replica_microbatches = std::move(counts);
    out.push_back(mixed_job(s, zero > 1 ? "pytorch-fsdp" : s.context > 1 ? "megatron-core" : "megatron-lm-2021"));
  };
  for (const bool overlap : {false, true}) {
    for (const int zero : {0, 1}) {
      add(strategy_of(2, 1, 1, 8), zero, overlap, {});
      add(strategy_of(2, 1, 1, 8), zero, overlap, {4, 4, 4, 4, 8, 8, 8, 8});
      add(strategy_of(2, 4, 1, 2), zero, overlap, {16, 32});
      add(strategy_of(1, 4, 1, 4), zero, overlap, {6, 10, 12, 20});
      add(strategy_of(2, 2, 2, 4), zero, overlap, {8, 8, 12, 20});
    }
  }
  add(strategy_of(2, 1, 1, 8), 2, false, {});
  add(strategy_of(1, 1, 1, 16), 3, false, {});
  add(strategy_of(1, 1, 1, 16), 3, false, {});
  out.back().strategy.zero_group = 8;
  add(strategy_of(2, 1, 1, 4), 1, true, {8, 8, 16, 16});
  out.back().strategy.context = 2;
  out.back().framework = test::framework_named("megatron-core");
  // Three nodes: stages on one type, and on two.
  add(strategy_of(2, 3, 1, 4), 0, true, {12, 12, 14, 10});
  out.back().model.layers = 9;
  out.back().cluster = Cluster({nodes("hgx-h100"), nodes("dgx-a100-80g"), nodes("hgx-h100")}, default_fabric());
  add(strategy_of(2, 2, 1, 6), 0, true, {});
  out.back().cluster = out[out.size() - 2].cluster;
  return out;
}

Picoseconds makespan(const Job& job, const LoweringOptions& options = {}) {
  const ShardedBlocks blocks = shard_blocks(job);
  const Program program = lower(job, blocks, plan_stages(job, blocks), options);
  program.validate();
  return execute(program, Executor::events).makespan;
}

double seconds(const Job& job) { return simulate(job).result.iteration_time_s; }

}  // namespace

TEST_CASE("mixed replicas folded and unfolded, as passes and as operators: the same time to the picosecond") {
  for (const Job& job : mixed_jobs()) {
    const Strategy& s = job.strategy;
    INFO("t " << s.tensor << " p " << s.pipeline << " v " << s.virtual_pipeline << " d " << s.data << " zero " << s.zero
              << " overlap " << s.overlap_grad_reduce << " uneven " << !s.replica_microbatches.empty());
    CHECK(replica_classes(job).size() > 1);
    const Picoseconds expected = makespan(job);
    for (const LoweringOptions& options : {LoweringOptions{true, false}, {false, true}, {true, true}}) {
      INFO("unfolded " << options.unfolded << " operators " << options.operators);
      CHECK(makespan(job, options) == expected);
    }
  }
}

TEST_CASE("equal hardware and microbatches, however they are written: the uniform iteration to the bit") {
  for (const Strategy& strategy : {strategy_of(2, 1, 1, 8), strategy_of(2, 2, 2, 4), strategy_of(1, 4, 1, 4)}) {
    const Job uniform = small_job(8, 2, strategy, 48);
    Job entries = uniform;
    entries.cluster = Cluster({nodes("dgx-a100-80g"), nodes("dgx-a100-80g")}, default_fabric());
    entries.strategy.replica_microbatches.assign(static_cast<std::size_t>(strategy.data), 48 / strategy.data);
    CHECK(replica_classes(entries).size() == 1);
    CHECK(makespan(entries) == makespan(uniform));
    // Another name makes another class, which changes nothing either.
    NodeAllotment renamed = nodes("dgx-a100-80g");
    renamed.hardware.spec.name = "another";
    entries.cluster = Cluster({nodes("dgx-a100-80g"), renamed}, default_fabric());
    if (strategy.pipeline < 2) CHECK(replica_classes(entries).size() == 2);
    CHECK(makespan(entries) == makespan(uniform));
    CHECK(simulate(entries).result.energy_j == doctest::Approx(simulate(uniform).result.energy_j).epsilon(1e-12));
  }
}

TEST_CASE("classes: replicas in the order of the first of each, on all stages alike") {
  Job job = mixed_job(strategy_of(2, 1, 1, 8));
  std::vector<ReplicaClass> classes = replica_classes(job);
  REQUIRE(classes.size() == 2);
  CHECK(classes[0].replicas == std::vector<int>{0, 1, 2, 3});
  CHECK(classes[1].replicas == std::vector<int>{4, 5, 6, 7});
  CHECK(classes[1].microbatches == 6);
  job.strategy.replica_microbatches = {9, 3, 9, 3, 6, 6, 6, 6};
  classes = replica_classes(job);
  REQUIRE(classes.size() == 3);
  CHECK(classes[1].replicas == std::vector<int>{1, 3});
  const ShardedBlocks blocks = shard_blocks(job);
  const std::vector<StagePlan> plans = plan_stages(job, blocks);
  REQUIRE(plans.size() == 3);
  CHECK(plans[1].order.size() == 6);
  CHECK(plans[2].costs.hardware->hardware.gpu.name == "h100");
  CHECK(plans[0].costs.others.size() == 1);
}

TEST_CASE("the FLOPs of all classes are those of the batch, and ranks are counted once") {
  const Job reference = small_job(8, 2, strategy_of(2, 1, 1, 8), 48);
  const double flop = simulate(reference).result.model_flop;
  for (const Job& job : mixed_jobs()) {
    if (job.model.layers != reference.model.layers || job.strategy.ranks() != 16) continue;
    const auto simulation = simulate(job);
    CHECK(simulation.result.model_flop == doctest::Approx(flop).epsilon(1e-9));
    double ranks = 0;
    for (const ProgramRank& rank : simulation.program.ranks) ranks += rank.multiplicity;
    CHECK(ranks == static_cast<double>(job.strategy.ranks()));
    const ActivitySeconds& seconds = simulation.result.activity_s;
    CHECK(std::accumulate(seconds.begin(), seconds.end(), 0.0) ==
          doctest::Approx(simulation.result.iteration_time_s).epsilon(1e-9));
    CHECK(simulation.result.stages.size() == simulation.plans.size());
  }
}

TEST_CASE("a collective of all replicas takes what the slowest hardware takes") {
  Job job = mixed_job(strategy_of(2, 1, 1, 8));
  const ShardedBlocks blocks = shard_blocks(job);
  const std::vector<StagePlan> plans = plan_stages(job, blocks);
  for (const ReplicaCollective& collective : gradient_reduction(job, plans[0].parameters.held())) {
    const double joint = price(collective, plans[0].costs).seconds;
    CHECK(price(collective, plans[1].costs).seconds == joint);
    double slowest = 0;
    for (const StagePlan& plan : plans) {
      const CommunicationGroup& group = group_of(plan.costs, collective.among);
      slowest = std::max(slowest, plan.costs.communication.price(collective.kind, collective.bytes, group).seconds);
    }
    CHECK(joint == slowest);
  }
}

TEST_CASE("a slower type of GPU never makes the iteration shorter") {
  for (const Strategy& strategy : {strategy_of(2, 1, 1, 8), strategy_of(1, 4, 1, 4), strategy_of(2, 2, 2, 4)}) {
    Job job = mixed_job(strategy);
    double last = seconds(job);
    for (const char* slower : {"dgx-a100-80g", "dgx-1-v100-32g"}) {
      job.cluster = Cluster({nodes("dgx-a100-80g"), nodes(slower)}, default_fabric());
      job.training.precision = "fp16";
      CHECK(seconds(job) >= last);
      last = seconds(job);
    }
  }
}

TEST_CASE("fewer microbatches for slow replicas help, for fast ones hurt") {
  Job job = free_communication(mixed_job(strategy_of(2, 1, 1, 8)));  // where compute decides, not the host
  const double even = seconds(job);
  job.strategy.replica_microbatches = {4, 4, 4, 4, 8, 8, 8, 8};
  CHECK(seconds(job) < even);
  job.strategy.replica_microbatches = {8, 8, 8, 8, 4, 4, 4, 4};
  CHECK(seconds(job) > even);
}

}  // namespace mixed_replicas_test
