// ZeRO++: what crosses, by the formulas of program/quantized_exchange.hpp and figures that are worked out here.

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "program/data_parallel.hpp"
#include "program/pass_parts.hpp"
#include "program/quantized_exchange.hpp"
#include "program/sharded_state.hpp"
#include "simulation/laws.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace zero_plus_plus_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

// A GPT of 4 layers (hidden 1024) on two DGX A100, ZeRO 3, so many microbatches.
Job job_with(int microbatches = 2) {
  Strategy strategy = sized(1, 16, 1);
  strategy.zero = 3;
  Job job = small_job(4, 2, strategy, 16 * microbatches);
  job.training.framework = "deepspeed";
  job.framework = framework_named("deepspeed");
  return job;
}

Job with_second_copy(int group, int microbatches = 2) {
  Job job = job_with(microbatches);
  job.strategy.zero_second_group = group;
  return job;
}

Job in_narrow_formats(bool gathers, bool reductions) {
  Job job = job_with();
  job.strategy.quantized_gathers = gathers;
  job.strategy.quantized_reductions = reductions;
  return job;
}

double bytes_of(const std::vector<ExchangeKernel>& kernels) {
  double bytes = 0;
  for (const ExchangeKernel& kernel : kernels) bytes += kernel.bytes;
  return bytes;
}

double sent(const Job& job) { return bytes_on(Lowered(job).program(), StreamKind::data); }
double elements(const Job& job) { return Lowered(job).plans.front().parameters.elements; }
double seconds(const Job& job) { return simulate(job).result.iteration_time_s; }

}  // namespace

TEST_CASE("gathers in 8 bits move a byte and a share of a scale for each parameter") {
  const Job job = in_narrow_formats(true, false);
  const Lowered lowered(job);
  const std::vector<ReplicaCollective> gathers = parameter_gather(job, lowered.plans[0].parameters, {8e6, 0});
  REQUIRE(gathers.size() == 2);
  CHECK(gathers[0].bytes == 8e6);
  CHECK(gathers[1].bytes == doctest::Approx(8e6 * 4 / 4096));
  // Each of the two forward and two backward passes gathers all: (2 - 1 - 4/4096) bytes less on 15 of 16 links.
  CHECK(sent(job_with()) - sent(job) == doctest::Approx(4 * elements(job) * (1 - 4.0 / 4096) * 15 / 16));
  // A 16th is cast (4 bytes), read in 16 bits and written in 8; all is read in 8, written in 16 and cast.
  CHECK(bytes_of(gather_kernels(job, {8e6, 0}, GatheredFrom::shards)) == doctest::Approx(8e6 * (7.0 / 16 + 7)));
  Job half = job;
  half.training.precision = "fp16";
  CHECK(bytes_of(gather_kernels(half, {8e6, 0}, GatheredFrom::shards)) == doctest::Approx(8e6 * (3.0 / 16 + 3)));
  CHECK(gather_kernels(job_with(), {8e6, 0}, GatheredFrom::shards).empty());
}

TEST_CASE("all gathers but those of the first forward pass come from the second copy") {
  const double parameters = elements(job_with());
  // Two microbatches gather four times, three of them among 8 ranks and not 16.
  CHECK(sent(job_with()) - sent(with_second_copy(8)) == doctest::Approx(3 * parameters * 2 * (15.0 / 16 - 7.0 / 8)));
  // One microbatch gathers twice, once among two ranks.
  CHECK(sent(job_with(1)) - sent(with_second_copy(2, 1)) == doctest::Approx(parameters * 2 * (15.0 / 16 - 1.0 / 2)));
  const Lowered lowered(with_second_copy(4));
  CHECK(lowered.plans[0].costs.second_group.shape.nodes == 1);
  CHECK(lowered.job.neighbours(0, 5, 4) == std::vector<int>{4, 5, 6, 7});
  const Lowered without(job_with());
  CHECK(sharded_state(lowered.job, lowered.plans[0]).parameters -
            sharded_state(without.job, without.plans[0]).parameters ==
        doctest::Approx(parameters * 2 / 4));
}

TEST_CASE("matrices cross in 4 bits, in nodes and between them; vectors do not") {
  const Job job = in_narrow_formats(false, true);
  const Lowered lowered(job);
  const HeldParameters layer = lowered.plans[0].chunks[0].held_by(1);
  CHECK(layer.counts.tensors == 4);
  // Biases of 3 h, h, 4 h and h, and two norms of 2 h.
  CHECK(layer.counts.whole_tensors == 8);
  CHECK(layer.counts.whole_elements == 13 * 1024);
  const double matrices = 12.0 * 1024 * 1024;
  CHECK(layer.total() == matrices + 13 * 1024);

  const std::vector<ReplicaCollective> reductions = gradient_reduction(job, layer);
  REQUIRE(reductions.size() == 5);
  CHECK(reductions[0].bytes == matrices / 2);
  CHECK(reductions[0].pieces == 4);
  CHECK(reductions[1].bytes == matrices * 4 / 1024);
  CHECK(reductions[2].bytes == matrices / 8 / 2);
  CHECK(reductions[3].bytes == matrices / 8 * 4 / 1024);
  CHECK(reductions[4].bytes == 13 * 1024 * 2);
  CHECK(reductions[4].pieces == 8);
  const StageCosts& costs = lowered.plans[0].costs;
  CHECK(costs.node_group.shape.ranks == 8);
  CHECK(costs.node_group.shape.nodes == 1);
  CHECK(costs.between_nodes_group.shape.ranks == 2);
  CHECK(costs.between_nodes_group.shape.nodes == 2);
  // Quantized: 2.5 bytes. Summed over 8 into an 8th: 0.5 each. Given back: 2.5 of an 8th. Of a 16th, two sums of 6
  // bytes and a division of 4.
  CHECK(bytes_of(reduction_kernels(job, layer)) ==
        doctest::Approx(matrices * (2.5 + 0.5 * 9 / 8 + 2.5 / 8 + 16.0 / 16)));
}

TEST_CASE("a tensor that twice the ranks do not divide is reduced as it is") {
  CHECK(is_quantizable(job_with(), 64));
  CHECK_FALSE(is_quantizable(job_with(), 80));
}

TEST_CASE("in one node, gradients are reduced as they are") {
  Strategy strategy = sized(1, 8, 1);
  strategy.zero = 3;
  Job job = small_job(4, 1, strategy, 16);
  job.framework = framework_named("deepspeed");
  const double plain = seconds(job);
  job.strategy.quantized_reductions = true;
  CHECK(seconds(job) == plain);
}

TEST_CASE("folded and unfolded programs take the same time, memory is as counted, and no law is broken") {
  Job all = in_narrow_formats(true, true);
  all.strategy.zero_second_group = 4;
  for (const Job& job : {in_narrow_formats(true, false), in_narrow_formats(false, true), with_second_copy(8), all}) {
    const Simulation folded = simulate(job);
    LoweringOptions unfolded;
    unfolded.unfolded = true;
    CHECK(simulate(job, unfolded).timeline.makespan == folded.timeline.makespan);
    CHECK(broken_laws(job, folded.result).empty());
  }
}

TEST_CASE("a slow network makes each part worth its kernels") {
  const auto slow = [](Job job) {
    job.framework.sharding.max_gather_bytes_per_s = 2e9;
    job.framework.sharding.max_reduce_bytes_per_s = 2e9;
    return seconds(job);
  };
  const double plain = slow(job_with());
  CHECK(slow(in_narrow_formats(true, false)) < plain);
  CHECK(slow(in_narrow_formats(false, true)) < plain);
  CHECK(slow(with_second_copy(8)) < plain);
}

}  // namespace zero_plus_plus_test
