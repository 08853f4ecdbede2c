// ZeRO in programs: the laws of tests/program/lowering.cpp for every stage, what is sent against arXiv 1910.02054, and
// what hides behind what.

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "program/data_parallel.hpp"
#include "program/lowering.hpp"
#include "program/pass_parts.hpp"
#include "program/sharded_state.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sharded_lowering_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

struct Case {
  std::string framework;
  int tensor, pipeline, data, zero, group;
  bool overlap;
};

Job job_of(const Case& c, std::int64_t global_batch = 16) {
  Strategy s;
  s.tensor = c.tensor;
  s.pipeline = c.pipeline;
  s.data = c.data;
  s.zero = c.zero;
  s.zero_group = c.group;
  s.overlap_grad_reduce = s.overlap_param_gather = c.overlap;
  s.schedule = schedule_named("1f1b");
  Job job = small_job(8, 2, s, global_batch);
  job.training.framework = c.framework;
  job.framework = test::framework_named(c.framework);
  job.framework.sharding.bucket_parameters =
      std::min(job.framework.sharding.bucket_parameters, 20e6);  // more than one bucket
  job.framework.sharding.bucket_parameters_per_rank = 0;
  return job;
}

std::vector<Case> cases() {
  return {{"megatron-core", 1, 1, 16, 1, 0, true}, {"megatron-core", 2, 2, 4, 1, 2, true},
          {"internevo", 1, 1, 16, 1, 8, true},     {"internevo", 2, 1, 8, 1, 0, false},
          {"deepspeed", 1, 1, 16, 2, 0, false},    {"deepspeed", 1, 1, 16, 3, 0, false},
          {"pytorch-fsdp", 1, 1, 16, 3, 0, false}, {"pytorch-fsdp", 1, 1, 16, 2, 0, false},
          {"pytorch-fsdp", 1, 1, 16, 3, 8, false}, {"llm-foundry", 2, 1, 8, 3, 2, false},
          {"torchtitan", 2, 2, 4, 3, 2, false},    {"jax-fsdp", 1, 1, 16, 3, 4, false},
          {"megatron-fsdp", 2, 2, 4, 2, 0, false}};
}

double seconds(const Job& job) { return to_seconds(execute(Lowered(job).program()).makespan); }

}  // namespace

TEST_CASE("ZeRO: folded and unfolded, passes and operators, sweep and events take the same time to the picosecond") {
  for (const Case& c : cases()) {
    for (const double host : {0.0, 1.0, 40.0}) {
      Job job = job_of(c);
      for (double* part : {&job.framework.host.forward_s, &job.framework.host.backward_s, &job.framework.host.unit_s}) {
        *part *= host;
      }
      job.framework.host.step_s = host * 1e-3;
      const Lowered lowered(job);
      INFO(c.framework << " t " << c.tensor << " p " << c.pipeline << " ZeRO " << c.zero << " over " << c.group
                       << " host x" << host);
      const Picoseconds expected = execute(lowered.program()).makespan;
      CHECK(expected > 0);
      for (const LoweringOptions& options : {LoweringOptions{true, false}, {false, true}, {true, true}}) {
        const Program program = lowered.program(options);
        program.validate();
        if (!program.shares_links()) CHECK(execute(program, Executor::sweep).makespan == expected);
        CHECK(execute(program, Executor::events).makespan == expected);
      }
    }
  }
}

TEST_CASE("ZeRO: unfolding multiplies the bytes by the ranks") {
  for (const Case& c : cases()) {
    const Lowered lowered(job_of(c));
    const double folded = bytes_on(lowered.program(), StreamKind::data);
    const double unfolded = bytes_on(lowered.program({true, false}), StreamKind::data);
    CHECK(folded > 0);
    CHECK(unfolded == doctest::Approx(c.tensor * c.data * folded).epsilon(1e-12));
  }
}

TEST_CASE("what a rank sends with m microbatches: 2 P and 2 P elements, then (m + 1) P, then 3 m P") {
  // arXiv 1910.02054, section 7, with 2-byte gradients and parameters; (d - 1)/d = 15/16 of each.
  const auto sent = [](int zero, int microbatches) {
    Job job = job_of({"deepspeed", 1, 1, 16, zero, 0, false}, 16 * microbatches);
    const Lowered lowered(job);
    return bytes_on(lowered.program(), StreamKind::data) / (2 * lowered.plans[0].parameters.elements * 15 / 16);
  };
  for (const int m : {1, 3}) {
    CHECK(sent(0, m) == doctest::Approx(2));
    CHECK(sent(1, m) == doctest::Approx(2));
    CHECK(sent(2, m) == doctest::Approx(m + 1));
    CHECK(sent(3, m) == doctest::Approx(3 * m));
  }
}

TEST_CASE("FSDP keeps what it gathers in stage 2, and the root unit in stage 3") {
  const auto sent = [](int zero) {
    const Lowered lowered(job_of({"pytorch-fsdp", 1, 1, 16, zero, 0, false}));
    const ChunkPlan& chunk = lowered.plans[0].chunks[0];
    const double layers = 8 * chunk.parameters_of(1);
    return std::pair(bytes_on(lowered.program(), StreamKind::data) / (2.0 * 15 / 16),
                     std::pair(layers, chunk.parameters - layers));
  };
  const auto [two, parts] = sent(2);
  CHECK(two == doctest::Approx(2 * parts.first + 2 * parts.second));
  CHECK(sent(3).first == doctest::Approx(3 * parts.first + 2 * parts.second));
}

TEST_CASE("FSDP2 casts the shards that an optimizer steps, and copies gathered parameters where ranks share them") {
  const auto copied = [](const Job& job) {
    const Lowered lowered(job);
    const StagePlan& plan = lowered.plans[0];
    const std::vector<PassPart> parts = split_pass(lowered.job, plan.chunks.front(), Pass::Kind::forward);
    double bytes = 0;
    for (const BodyStep& step : replica_copies(lowered.job, plan.costs, parts.at(1)).steps) bytes += step.bytes;
    return std::pair(bytes / parts.at(1).gathers.total(), bytes);
  };
  Job job = job_of({"torchtitan", 1, 1, 16, 3, 0, false});
  CHECK(copied(job).first == doctest::Approx(10.0 / 16 + 4));  // a cast and a copy of a 16th, a copy of all
  job.strategy.data = 1;
  CHECK(copied(job).first == doctest::Approx(10));  // the only rank gathers into what kernels read
  job.training.precision = "fp32";
  CHECK(copied(job).second == 0);

  job = job_of({"torchtitan", 1, 1, 16, 3, 0, false});
  job.training.adapters = {16, 0, true, true, true, true};
  const double adapters = copied(job).first;
  CHECK(adapters > 4);
  CHECK(adapters < 4.1);  // frozen shards have the precision of the passes
}

TEST_CASE("a framework that releases what is not used again soon gathers it a third time to recompute") {
  Job job = job_of({"deepspeed", 1, 1, 16, 3, 0, false});
  const double kept = bytes_on(Lowered(job).program(), StreamKind::data);
  job.strategy.recompute = Recompute::full;
  CHECK(bytes_on(Lowered(job).program(), StreamKind::data) == kept);  // a layer of 12.6 M is below the distance
  job.framework.sharding.reuse_parameters = 2e6;
  const Lowered far(job);
  const double layer = far.plans[0].chunks[0].parameters_of(1);
  CHECK(bytes_on(far.program(), StreamKind::data) == doctest::Approx(kept + 8 * (layer - 1e6) * 2 * 15 / 16));
}

TEST_CASE("hybrid sharding: reduce-scatter within a group, all-reduce of the shard across groups") {
  const Lowered lowered(job_of({"deepspeed", 1, 1, 16, 1, 8, false}));
  const double parameters = lowered.plans[0].parameters.elements;
  // Two groups of 8: 7/8 of gradients and parameters within; a share of 1/8 across, 2 (2 - 1)/2 of it.
  CHECK(bytes_on(lowered.program(), StreamKind::data) ==
        doctest::Approx(2 * parameters * (7.0 / 8 + 7.0 / 8 + 1.0 / 8)));
  CHECK(lowered.plans[0].costs.shard_group.shape.nodes == 1);
  CHECK(lowered.plans[0].costs.across_group.shape.nodes == 2);
}

TEST_CASE("gradients of 16 bits that are reduced as fp32 copies send twice the bytes, and take no more memory") {
  Strategy strategy = sized(1, 8, 1);
  strategy.zero = 1;
  Job job = small_job(4, 1, strategy, 8);
  job.framework.memory.gradient_bytes = 2;
  const Lowered narrow(job);
  job.framework.sharding.reduces_fp32 = true;
  const Lowered wide(job);
  const auto sent = [](const Lowered& lowered) {
    return gradient_reduction(lowered.job, lowered.plans.front().parameters.held()).front().bytes;
  };
  CHECK(sent(wide) == 2 * sent(narrow));
  CHECK(sharded_state(wide.job, wide.plans.front()).gradients ==
        sharded_state(narrow.job, narrow.plans.front()).gradients);
}

TEST_CASE("one group of all ranks is no group, and groups within a node spare a slow network the gathers") {
  const auto grouped = [](int group) {
    Job job = job_of({"jax-fsdp", 1, 1, 16, 3, group, false});
    job.model.hidden = 8192;  // bytes decide, not latencies
    job.model.head_dim = 512;
    job.model.ffn = 4 * 8192;
    std::vector<NodeAllotment> nodes(job.cluster.groups().begin(), job.cluster.groups().end());
    nodes.front().hardware.network.bandwidth.value /= 8;
    job.cluster = Cluster(nodes, job.cluster.fabric());
    return seconds(job);
  };
  CHECK(grouped(16) == grouped(0));
  CHECK(grouped(8) < grouped(0));
}

TEST_CASE("gathers and reductions hide behind compute but for the first and the last") {
  Job job = job_of({"pytorch-fsdp", 1, 1, 16, 3, 0, false}, 16 * 64);
  job.strategy.micro_batch = 32;  // compute of a layer far above its transfers
  const Lowered lowered(job);
  Job alone = free_communication(job);
  alone.framework.sharding.host_waits_for_gathers = false;
  job.framework.host.forward_s = job.framework.host.backward_s = job.framework.host.unit_s = 0;
  const double hidden = seconds(job) - seconds(alone);
  const ChunkPlan& chunk = lowered.plans[0].chunks[0];
  const double root = chunk.parameters_of(0) + chunk.parameters_of(9);
  const StageCosts& costs = lowered.plans[0].costs;
  const StageParameters& held = lowered.plans[0].parameters;
  const double gather = price(parameter_gather(job, held, {root, 0}).front(), costs).seconds;
  const double reduce = price(gradient_reduction(job, {root, 0}).front(), costs).seconds;
  const double first = price(parameter_gather(job, held, {chunk.parameters_of(1), 0}).front(), costs).seconds;
  // Per microbatch the root's gather and reduction; the first layer's gather and the last reduction behind it overlap
  // with the embedding only.
  CHECK(hidden > 2 * (gather + reduce));
  // Kernels beside collectives lose the multiprocessors that these hold.
  CHECK(hidden < 1.2 * 2 * (gather + reduce + 2 * first) + 1e-3);
}

TEST_CASE("without overlap an iteration takes compute and collectives together") {
  Job job = job_of({"deepspeed-2021", 1, 1, 16, 3, 0, false}, 64);
  job.framework.host.forward_s = job.framework.host.backward_s = 0;
  job.framework.sharding.overlaps_gathers = false;
  const Lowered lowered(job);
  const Program program = lowered.program();
  Picoseconds busy = 0;
  for (TaskId task = 0; task < program.size(); ++task) {
    const StreamKind kind = program.streams[program.stream[task]].kind;
    if (kind == StreamKind::compute || kind == StreamKind::data) busy += program.duration[task];
  }
  CHECK(execute(program).makespan == busy);
}

TEST_CASE("where reductions block, an iteration takes compute and reductions together at least") {
  Job job = job_of({"deepspeed-2021", 1, 1, 16, 3, 0, false}, 64);
  job.framework.host.forward_s = job.framework.host.backward_s = 0;
  job.framework.sharding.max_gather_bytes_per_s = 0;
  REQUIRE(job.framework.sharding.reduction_blocks);
  const Lowered lowered(job);
  const ChunkPlan& chunk = lowered.plans[0].chunks[0];
  double reductions = 0;
  for (int block = 0; block < chunk.blocks(); ++block) {
    reductions += price(gradient_reduction(job, chunk.held_by(block)).front(), lowered.plans[0].costs).seconds;
  }
  const double microbatches = 64.0 / 16 / job.strategy.micro_batch;
  Job alone = free_communication(job);
  alone.framework.sharding.max_reduce_bytes_per_s = 0;  // a limit of the software, whatever the network
  const double compute = seconds(alone);
  CHECK(seconds(job) >= (compute + microbatches * reductions) * (1 - 1e-9));
}

TEST_CASE("... but not those that a strategy overlaps with the last backward pass") {
  Job job = job_of({"paddle", 1, 1, 16, 1, 0, false}, 64);
  REQUIRE(job.framework.sharding.reduction_blocks);
  const double behind = seconds(job);
  job.strategy.overlap_grad_reduce = true;
  CHECK(seconds(job) < behind);
}

TEST_CASE("nothing runs beside the reduction behind a stage's last backward pass, nor beside its first gather") {
  const Lowered lowered(job_of({"megatron-core", 1, 1, 16, 1, 0, true}));
  const StagePlan& plan = lowered.plans.front();
  const DataParallelPlan replicas = data_parallel_plan(lowered.job);
  const auto collectives = [&](Pass::Kind kind) {
    return collectives_of(lowered.job, plan.costs, plan.parameters, split_pass(lowered.job, plan.chunks.front(), kind));
  };
  const std::vector<PartCollectives> backward = collectives(Pass::Kind::backward);
  const std::vector<PartCollectives> forward = collectives(Pass::Kind::forward);
  REQUIRE(backward.size() > 1);
  REQUIRE(forward.size() == backward.size());
  CHECK(backward.front().reduce.seconds > 0);
  CHECK(collectives_beside(replicas, 0, backward, 0).reduce.seconds == 0);
  CHECK(collectives_beside(replicas, 0, forward, forward.size() - 1).gather.seconds == 0);
  for (std::size_t i = 1; i < backward.size(); ++i) {
    CHECK(collectives_beside(replicas, 0, backward, i).reduce.seconds == backward[i - 1].reduce.seconds);
    CHECK(collectives_beside(replicas, 0, forward, i - 1).gather.seconds == forward[i].gather.seconds);
    CHECK(collectives_beside(replicas, 1, backward, i).reduce.seconds == backward[i].reduce.seconds);
  }
}

TEST_CASE("a limit on what collectives reach is the rate of those that would be faster") {
  const Lowered lowered(job_of({"pytorch-fsdp", 1, 1, 16, 3, 0, false}));
  const StageCosts& costs = lowered.plans[0].costs;
  ReplicaCollective reduction = gradient_reduction(lowered.job, {100e6, 0}).front();
  const CommunicationCost free = price(reduction, costs);
  reduction.max_bytes_per_s = 10 * free.bytes_per_s;
  CHECK(price(reduction, costs).seconds == free.seconds);
  reduction.max_bytes_per_s = free.bytes_per_s / 10;
  CHECK(price(reduction, costs).seconds == doctest::Approx(10 * free.bytes_sent / free.bytes_per_s));
}

TEST_CASE("... across nodes, where it was seen, not within one") {
  const Lowered lowered(job_of({"pytorch-fsdp", 1, 1, 8, 3, 0, false}));
  const StageCosts& costs = lowered.plans[0].costs;
  ReplicaCollective reduction = gradient_reduction(lowered.job, {100e6, 0}).front();
  const CommunicationCost free = price(reduction, costs);
  reduction.max_bytes_per_s = free.bytes_per_s / 10;
  CHECK(price(reduction, costs).seconds == free.seconds);
}

TEST_CASE("parameters gathered behind the step, or overlapped with the first forward pass: the same bytes, less time") {
  Case c = {"megatron-core", 1, 1, 16, 1, 0, false};
  Job job = job_of(c);
  job.strategy.overlap_grad_reduce = true;
  const Lowered behind(job);
  job.strategy.overlap_param_gather = true;
  const Lowered overlapped(job);
  CHECK(bytes_on(overlapped.program(), StreamKind::data) ==
        doctest::Approx(bytes_on(behind.program(), StreamKind::data)));
  CHECK(execute(overlapped.program()).makespan < execute(behind.program()).makespan);
}

TEST_CASE("whole tensors broadcast one by one pay the ring's latency once per tensor") {
  Job job = job_of({"internevo", 1, 1, 16, 1, 0, false});
  const Lowered lowered(job);
  const StageCosts& costs = lowered.plans[0].costs;
  StageParameters held = lowered.plans[0].parameters;
  held.tensors = 1000;
  const ReplicaCollective broadcasts = parameter_gather(job, held, {1e8, 0}).front();
  CHECK(broadcasts.pieces == 16);
  CHECK(broadcasts.kind == CollectiveKind::broadcast);
  ReplicaCollective once = broadcasts;
  once.pieces = 1;
  CHECK(price(broadcasts, costs).seconds >= price(once, costs).seconds);
  CHECK(price(broadcasts, costs).bytes_sent == doctest::Approx(price(once, costs).bytes_sent));
}

TEST_CASE("kernels beside a collective that holds a quarter of the multiprocessors run at three quarters") {
  CHECK(lost_beside(3, 0.25, 30) == doctest::Approx(0.75));   // the collective ends first
  CHECK(lost_beside(30, 0.25, 3) == doctest::Approx(1));      // 3 s of work take 4
  CHECK(lost_beside(4, 0.25, 3) == doctest::Approx(1));       // both end together
  CHECK(lost_beside(1, 0.9, 10) == lost_beside(1, 0.5, 10));  // half of them at most
  CHECK(lost_beside(0, 0.25, 3) == 0);
}

TEST_CASE("once a kernel has waited for a collective, it and those after it lose nothing to it") {
  Strategy strategy = sized(4, 1, 1);
  strategy.sequence_parallel = true;
  strategy.micro_batch = 2;
  Job job = small_job(2, 1, strategy, 2);
  job.framework.communication.overlap_tensor_gradients = true;
  const Lowered lowered(job);
  const StagePlan& plan = lowered.plans.front();
  const BlockId layer = lowered.blocks.layer_id(0);
  const std::vector<BodyStep>& body = plan.bodies_of(layer).backward.steps;
  const PartitionedBlock& block = lowered.blocks.all[static_cast<std::size_t>(layer)];
  std::vector<BlockStep> steps = block.recompute;
  steps.insert(steps.end(), block.backward.begin(), block.backward.end());
  REQUIRE(steps.size() == body.size());
  int beside = -1;      // the last collective
  bool waited = false;  // for it
  int alone = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (steps[i].kind == BlockStep::Kind::collective) {
      beside = static_cast<int>(i);
      waited = false;
      continue;
    }
    waited = waited || std::count(body[i].after.begin(), body[i].after.end(), beside) > 0;
    const Picoseconds price = to_picoseconds(plan.costs.kernels.price(block, steps[i]).seconds);
    if (beside < 0 || waited) CHECK(body[i].device == price);
    if (beside >= 0 && waited) ++alone;
  }
  CHECK(alone > 4);
}

TEST_CASE("kernels beside collectives are behind by the share of the multiprocessors that these hold") {
  const Lowered lowered(job_of({"pytorch-fsdp", 1, 1, 16, 3, 0, false}));
  const StagePlan& plan = lowered.plans.front();
  const std::vector<PassPart> parts = split_pass(lowered.job, plan.chunks.front(), Pass::Kind::backward);
  const PassPart& part = parts[1];
  double held_s = 0;
  double beside_s = 0;
  const auto add = [&](const std::vector<ReplicaCollective>& collectives) {
    for (const ReplicaCollective& collective : collectives) {
      const CommunicationCost cost = price(collective, plan.costs);
      beside_s += cost.seconds;
      held_s += cost.seconds * cost.multiprocessors / plan.costs.hardware->hardware.gpu.multiprocessors;
    }
  };
  add(parameter_gather(lowered.job, plan.parameters, part.gathers));
  add(gradient_reduction(lowered.job, part.reduces));
  const auto lost = [&](double device_s) {
    const PassPart one[] = {part};
    return lost_to_collectives(collectives_of(lowered.job, plan.costs, plan.parameters, one).front(), device_s);
  };
  REQUIRE(held_s > 0);
  CHECK(lost(10 * beside_s) == doctest::Approx(held_s));
  // Kernels that end first: of their lengthened time the collectives take their share.
  const double device_s = beside_s / 10;
  CHECK(lost(device_s) / (device_s + lost(device_s)) == doctest::Approx(held_s / beside_s));
  Lowered apart(job_of({"deepspeed", 1, 1, 16, 3, 0, false}));
  PassPart gathers = part;
  gathers.reduces = {};
  apart.job.framework.sharding.overlaps_gathers = false;
  const PassPart one[] = {gathers};
  CHECK(lost_to_collectives(collectives_of(apart.job, plan.costs, plan.parameters, one).front(), device_s) == 0);
}

}  // namespace sharded_lowering_test
