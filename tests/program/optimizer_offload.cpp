// Part of the optimizer on the host: the time it takes, the memory it saves, and that nothing else changes.

#include "program/optimizer_offload.hpp"

#include "base/error.hpp"
#include "job_fixture.hpp"
#include "program/data_parallel.hpp"
#include "program/memory.hpp"
#include "program/optimizer_step.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

namespace optimizer_offload_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

Job offloading(double share, const char* framework = "megatron-core", int zero = 1) {
  Strategy strategy;
  strategy.data = 16;
  strategy.zero = zero;
  strategy.offload_optimizer = share;
  Job job = small_job(8, 2, strategy, 16);
  job.training.framework = framework;
  job.framework = test::framework_named(framework);
  return job;
}

template <typename Change>
Job with_node(Job job, const Change& change) {
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : job.cluster.groups()) {
    nodes.push_back(group);
    change(nodes.back().hardware);
  }
  job.cluster = Cluster(nodes, job.cluster.fabric());
  return job;
}

StagePlan first_plan(const Job& job) { return plan_stages(job, shard_blocks(job)).front(); }

double time_of(const Job& job) { return simulate(job).result.iteration_time_s; }

OffloadedStep step_of(const Job& job) {
  const StagePlan plan = first_plan(job);
  return offloaded_step(job, plan.parameters, plan.costs.hardware->hardware);
}

}  // namespace

TEST_CASE("copies are 4 bytes a parameter each way over the link, the update 28 over a rank's part of the memory") {
  const Job job = offloading(1);
  const double parameters = first_plan(job).parameters.elements / 16;
  const OffloadedStep step = step_of(job);
  // DGX A100: PCI Express 4 of 31.5e9 bytes/s, 409.6e9 of memory for 8 ranks.
  CHECK(step.gradients_s == doctest::Approx(4 * parameters / (0.786 * 31.5e9)));
  CHECK(step.parameters_s == step.gradients_s);
  CHECK(step.update_s == doctest::Approx(28 * parameters / (0.24 * 409.6e9 / 8)));
}

TEST_CASE("equal pieces through copy, update and copy: the slowest decides, the others once") {
  OffloadedStep step{.gradients_s = 1, .update_s = 3, .parameters_s = 2};
  CHECK(step.seconds() == doctest::Approx(6));
  step.pieces = 10;
  CHECK(step.seconds() == doctest::Approx(0.6 + 2.7));
  step.pieces = 1e9;
  CHECK(step.seconds() == doctest::Approx(3));
}

TEST_CASE("a published run: copies and update of all of the optimizer's state of Qwen3-30B-A3B on 16 H100") {
  // A rank has 1/16 of 128 experts of 3 x 2048 x 768 in 48 layers; 1.5e9 other parameters over 4 stages' and tensor
  // ranks' replicas of 4.
  Job job = offloading(1);
  job.cluster = cluster_of("hgx-h100", 2);
  StageParameters held;
  held.elements = 16 * (48.0 * 128 * 3 * 2048 * 768 / 16 + 1.5e9 / 16);
  const auto seconds = [&](bool overlaps) {
    job.framework.offload.overlaps = overlaps;
    held.tensors = 10'000;
    return offloaded_step(job, held, job.cluster.groups().front().hardware).seconds();
  };
  CHECK(seconds(false) == doctest::Approx(4.189 - 0.996).epsilon(0.03));
  CHECK(seconds(true) == doctest::Approx(3.877 - 0.996).epsilon(0.03));
}

TEST_CASE("what is offloaded adds what it takes beyond the device's own step, in both forms of the program") {
  for (const char* framework : {"megatron-core", "deepspeed"}) {
    const Job kept = offloading(0, framework);
    const Job job = offloading(1, framework);
    const double on_device = to_seconds(optimizer_body(kept, first_plan(kept)).device);
    CHECK(time_of(job) - time_of(kept) == doctest::Approx(step_of(job).seconds() - on_device).epsilon(1e-6));
    CHECK(simulate(job, {true, false}).result.iteration_time_s == time_of(job));
    CHECK(simulate(job, {false, true}).result.iteration_time_s == doctest::Approx(time_of(job)).epsilon(1e-9));
  }
}

TEST_CASE("the device steps the rest beside it") {
  Job job = offloading(0.5, "deepspeed", 3);
  const double share = to_seconds(optimizer_body(job, first_plan(job)).device);
  CHECK(share == doctest::Approx(step_of(job).seconds()));
  job = with_node(job, [](NodeHardware& node) {
    node.host_link.bandwidth.value = 1e30;
    node.spec.host_memory_bandwidth->value = 1e30;
  });
  const Job kept = offloading(0, "deepspeed", 3);
  CHECK(optimizer_body(job, first_plan(job)).bytes == optimizer_body(kept, first_plan(kept)).bytes / 2);
  CHECK(to_seconds(optimizer_body(job, first_plan(job)).device) < share);
}

TEST_CASE("a faster link to the host, or faster memory there, is never slower") {
  for (const char* framework : {"megatron-core", "deepspeed"}) {
    double before = 0;
    for (const double factor : {0.1, 0.5, 1.0, 2.0, 100.0}) {
      const Job linked =
          with_node(offloading(1, framework), [&](NodeHardware& node) { node.host_link.bandwidth.value *= factor; });
      CHECK((before == 0 || time_of(linked) <= before));
      before = time_of(linked);
    }
    before = 0;
    for (const double factor : {0.1, 0.5, 1.0, 2.0, 100.0}) {
      const Job job = with_node(offloading(1, framework),
                                [&](NodeHardware& node) { node.spec.host_memory_bandwidth->value *= factor; });
      CHECK((before == 0 || time_of(job) <= before));
      before = time_of(job);
    }
  }
}

TEST_CASE("gradients that are reduced during passes are on DeepSpeed's host when the step begins") {
  Job job = offloading(1, "deepspeed");
  CHECK(step_of(job).gradients_s > 0);
  job.strategy.overlap_grad_reduce = true;
  CHECK(step_of(job).gradients_s == 0);
  CHECK(step_of(offloading(1, "deepspeed", 2)).gradients_s == 0);
}

TEST_CASE("the device's memory is that share of the optimizer's state smaller, but what stays, and the host holds it") {
  const auto memory = [](double share, double kept_bytes) {
    Job job = offloading(share);
    job.framework.offload.kept_bytes = kept_bytes;
    const ShardedBlocks blocks = shard_blocks(job);
    return account_memory(job, blocks, plan_stages(job, blocks)).front();
  };
  const StageMemory kept = memory(0, 4);
  CHECK(kept.host == 0);
  for (const double share : {0.25, 1.0}) {
    const StageMemory offloaded = memory(share, 0);
    CHECK(kept.peak.total() - offloaded.peak.total() == doctest::Approx(share * kept.peak.optimizer).epsilon(1e-9));
    // The master copy stays: 4 of 12 bytes.
    const double smaller = kept.peak.total() - memory(share, 4).peak.total();
    CHECK(smaller == doctest::Approx(share * kept.peak.optimizer * 8 / 12).epsilon(1e-9));
    CHECK(offloaded.host == doctest::Approx(share * kept.peak.optimizer / 12 * 16));  // and gradients in fp32
    CHECK(offloaded.host_capacity == 2199023255552.0 / 8);
  }
}

namespace {

// DeepSpeed's ZeRO 3 on nodes whose disks read 20 and write 10 GB/s.
Job on_disks(bool optimizer, bool parameters, bool overlap = false) {
  Job job = with_node(offloading(1, "deepspeed", 3), [](NodeHardware& node) {
    node.spec.disk_read_bandwidth = Figure{20e9, {}};
    node.spec.disk_write_bandwidth = Figure{10e9, {}};
  });
  job.strategy.offload_parameters = true;
  job.strategy.optimizer_on_disk = optimizer;
  job.strategy.parameters_on_disk = parameters;
  job.strategy.overlap_disk = overlap;
  return job;
}

}  // namespace

TEST_CASE("state on disks is read and written at a rank's share of their rates, piece by piece") {
  const double parameters = first_plan(on_disks(true, false)).parameters.elements / 16;
  const OffloadedStep step = step_of(on_disks(true, false));
  CHECK(step.read_s == doctest::Approx(16 * parameters / (20e9 / 8)));
  CHECK(step.write_s == doctest::Approx(16 * parameters / (10e9 / 8)));
  CHECK(step.seconds() ==
        doctest::Approx(step.gradients_s + step.read_s + step.update_s + step.write_s + step.parameters_s));
  Job pieces = on_disks(true, false, true);
  pieces.framework.offload.disk_piece_parameters = parameters / 4;
  const OffloadedStep beside = step_of(pieces);
  REQUIRE(beside.pieces == 4);
  // Writing is slowest: of four pieces the first passes all steps, the others follow it.
  CHECK(beside.seconds() == doctest::Approx(step.seconds() / 4 + step.write_s * 3 / 4));
  CHECK(time_of(pieces) < time_of(on_disks(true, false)));
  CHECK(time_of(on_disks(false, false)) < time_of(pieces));
}

TEST_CASE("the host holds buffers of what lies on its disks") {
  const auto memory = [](const Job& job) {
    const ShardedBlocks blocks = shard_blocks(job);
    return account_memory(job, blocks, plan_stages(job, blocks)).front();
  };
  const StageMemory there = memory(on_disks(false, false));
  CHECK(there.disk == 0);
  Job job = on_disks(true, false);
  const double parameters = first_plan(job).parameters.elements / 16;
  job.framework.offload.disk_piece_parameters = parameters / 4;
  CHECK(memory(job).disk == doctest::Approx(16 * parameters));
  const double state = offloaded_bytes(on_disks(false, false), first_plan(job).parameters.held());
  CHECK(there.host - memory(job).host == doctest::Approx(state - 16 * parameters / 4));
  job.strategy.overlap_disk = true;
  CHECK(there.host - memory(job).host == doctest::Approx(state - 3 * 16 * parameters / 4));
}

TEST_CASE("gathers read from disks what a rank does not keep in memory") {
  Job job = on_disks(false, true);
  const StagePlan plan = first_plan(job);
  const double parameters = plan.parameters.elements / 16;
  CHECK(parameter_gather(job, plan.parameters, {8e6, 0}).front().disk_bytes == 0);  // fewer than 1e9
  job.framework.offload.disk_kept_parameters = parameters / 4;
  CHECK(parameter_bytes_on_disk(job, plan.parameters) == doctest::Approx(2 * parameters * 3 / 4));
  const ReplicaCollective gather = parameter_gather(job, plan.parameters, {8e6, 0}).front();
  CHECK(gather.disk_bytes == doctest::Approx(2 * 8e6 / 16 * 3 / 4));
  CHECK(price(gather, plan.costs).seconds ==
        doctest::Approx(
            price(parameter_gather(on_disks(false, false), plan.parameters, {8e6, 0}).front(), plan.costs).seconds +
            gather.disk_bytes / (20e9 / 8)));
}

TEST_CASE("state that the host's memory has no room for does not fit") {
  const auto fits = [](double host_bytes) {
    return simulate(
               with_node(offloading(1), [&](NodeHardware& node) { node.spec.host_memory_bytes.value = host_bytes; }))
        .result.fits;
  };
  const double needed = 8 * offloaded_bytes(offloading(1), first_plan(offloading(1)).parameters.held());
  CHECK(fits(needed * 1.01));
  CHECK_FALSE(fits(needed * 0.99));
}

TEST_CASE("a node without the bandwidth of its host's memory is an error that names the key") {
  const Job job = with_node(offloading(1), [](NodeHardware& node) { node.spec.host_memory_bandwidth.reset(); });
  try {
    simulate(job);
    FAIL_CHECK("expected an error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.message().find("host_memory_bandwidth") != std::string::npos);
  }
  CHECK_NOTHROW(
      simulate(with_node(offloading(0), [](NodeHardware& node) { node.spec.host_memory_bandwidth.reset(); })));
}

namespace {

Job with_parameters_there(const char* framework, double share, int gpus = 16) {
  Job job = offloading(share, framework, 3);
  job.strategy.data = gpus;
  job.strategy.offload_parameters = true;
  job.training.global_batch = gpus;
  if (gpus == 1) {
    job.cluster = cluster_of("dgx-a100-80g", 1);
  }
  return job;
}

StageMemory memory_of(const Job& job) { return simulate(job).result.stages.front().memory; }

}  // namespace

// DeepSpeed: shards in 16 bits, on the host beside the optimizer's state; nothing is copied back after the step.
TEST_CASE("parameters on the host: their shards leave the device, and each gather copies them first") {
  const Job there = with_parameters_there("deepspeed", 1);
  Job here = there;
  here.strategy.offload_parameters = false;
  const StagePlan plan = first_plan(there);
  const double shard = plan.parameters.elements / 16;
  CHECK(memory_of(there).peak.parameters == 0);
  CHECK(memory_of(here).peak.parameters == doctest::Approx(2 * shard));
  CHECK(memory_of(there).host - memory_of(here).host == doctest::Approx(2 * shard));
  CHECK(step_of(there).parameters_s == 0);
  CHECK(step_of(here).parameters_s > 0);

  const HeldParameters held = plan.parameters.held();
  const double copied = 2 * shard / (0.786 * 31.5e9);
  const ReplicaCollective gather = parameter_gather(there, plan.parameters, held).front();
  CHECK(gather.host_bytes == doctest::Approx(2 * shard));
  CHECK(price(gather, plan.costs).seconds ==
        doctest::Approx(price(parameter_gather(here, plan.parameters, held).front(), plan.costs).seconds + copied));
  // Over a slow link, twice as much as what comes back after a step without this; kernels hide a part of it.
  const auto slow = [](const Job& job) {
    return time_of(with_node(job, [](NodeHardware& node) { node.host_link.bandwidth.value /= 8; }));
  };
  CHECK(slow(there) > slow(here) + 0.5 * 8 * copied);
}

// FSDP: fp32 shards, which are the optimizer's masters; parameters, gradients and both moments are on the host.
TEST_CASE("FSDP takes parameters, gradients and optimizer to the host together") {
  const Job there = with_parameters_there("huggingface-fsdp", 1);
  const StagePlan plan = first_plan(there);
  const double shard = plan.parameters.elements / 16;
  const StageMemory memory = memory_of(there);
  CHECK(memory.peak.parameters == 0);
  CHECK(memory.peak.optimizer == 0);
  CHECK(memory.peak.gradients == 0);
  CHECK(memory.host == doctest::Approx(16 * shard));  // masters, moments, and gradients in fp32
  CHECK(parameter_gather(there, plan.parameters, plan.parameters.held()).front().host_bytes ==
        doctest::Approx(4 * shard));
}

TEST_CASE("one device gathers nothing, and still copies its parameters from the host") {
  const Job there = with_parameters_there("deepspeed", 1, 1);
  Job here = there;
  here.strategy.offload_parameters = false;
  const double parameters = first_plan(there).parameters.elements;
  CHECK(memory_of(there).host - memory_of(here).host == doctest::Approx(2 * parameters));
  CHECK(memory_of(there).peak.total() < memory_of(here).peak.total());
  // Each pass reads all of them, forward and backward; gradients are copied beside the backward pass.
  const double copied = 2 * 2 * parameters / (0.786 * 31.5e9);
  const OffloadedStep step = step_of(here);
  const double passes = time_of(here) - step.parameters_s - step.gradients_s;
  CHECK(time_of(there) > passes);
  CHECK(time_of(there) < passes + copied);
}

TEST_CASE("frozen parameters lie on the host, too") {
  Job there = with_parameters_there("deepspeed", 0);
  there.training.adapters = {8, 0, true, true, true, true};
  const StagePlan plan = first_plan(there);
  CHECK(offloaded_parameter_bytes(there, plan.parameters) ==
        doctest::Approx(2 * (plan.parameters.elements + plan.parameters.frozen_elements) / 16));
}

}  // namespace optimizer_offload_test
