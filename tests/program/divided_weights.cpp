// Weights that replicas divide: what crosses, what a rank holds and how long it takes, by the formulas of
// program/weight_exchange.hpp.

#include "program/divided_weights.hpp"

#include "job_fixture.hpp"
#include "program/memory.hpp"
#include "program/weight_exchange.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace divided_weights_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

// A GPT of 4 layers (hidden 1024) on two DGX A100 with the distributed optimizer: so many ranks share a weight.
Job job_with(int group, int microbatches = 2) {
  Strategy strategy = sized(1, 16, 1);
  strategy.zero = 1;
  if (group > 0) strategy.weight_shards = group;
  Job job = small_job(4, 2, strategy, 16 * microbatches);
  job.training.framework = "megatron-core";
  job.framework = framework_named("megatron-core");
  return job;
}

// The same with 8 experts on 4 ranks, which 4 replicas hold: so many of these share an expert's weights.
Job mixture_with(int group, int of_experts) {
  Job job = job_with(group);
  job.strategy.expert = 4;
  job.strategy.expert_weight_shards = of_experts;
  job.model.mixture.experts = 8;
  job.model.mixture.per_token = 2;
  job.model.mixture.ffn = 1024;
  return job;
}

// Parameters of a rank: weights of layers, tables of words and positions, the former alone (which the head reads, too),
// and what stays whole.
struct Counted {
  double layers = 0;
  double tables = 0;
  double words = 0;
  double whole = 0;
};

Counted count(const Lowered& lowered) {
  const StagePlan& plan = lowered.plans.front();
  const ChunkPlan& chunk = plan.chunks.front();
  Counted out;
  out.tables = chunk.divided_of(0).shared;
  out.words = chunk.divided_of(chunk.blocks() - 1).shared;
  out.whole = plan.parameters.counts.whole_elements;
  out.layers = plan.parameters.elements - out.tables - out.whole;
  return out;
}

LoweringOptions all_ranks() {
  LoweringOptions options;
  options.unfolded = true;
  return options;
}

double sent(const Job& job) { return bytes_on(Lowered(job).program(), StreamKind::data); }
double seconds(const Job& job) { return simulate(job).result.iteration_time_s; }

}  // namespace

TEST_CASE("a layer divides its four matrices and keeps its norms and biases whole") {
  const Lowered lowered(job_with(8));
  const ChunkPlan& chunk = lowered.plans.front().chunks.front();
  CHECK(chunk.divided_of(1).shared == 12 * 1024 * 1024);
  CHECK(chunk.divided_of(1).counts.tensors == 4);
  CHECK(chunk.recomputed_of(1).total() == 0);
  const Counted counted = count(lowered);
  CHECK(counted.layers == 4 * 12 * 1024 * 1024);
  CHECK(counted.whole == 4 * 13 * 1024 + 2 * 1024);  // the last norm is the head's
}

TEST_CASE("weights cross in every pass among those that share them, and once among those that hold the same part") {
  const Job job = job_with(8, 2);
  const Counted of = count(Lowered(job));
  const double gradient = gradient_bytes(job);
  // Two microbatches. Forward passes gather layers and the tables for embedding and head, backward passes layers and
  // head; each backward pass reduces layers, embedding and head.
  const double gathers = 2 * 2 * (2 * of.layers + of.tables + 2 * of.words) * 7 / 8;
  const double reductions = 2 * gradient * (of.layers + of.tables + of.words) * 7 / 8;
  const double part = (of.layers + of.tables) / 8 + of.whole;
  const double parts = (gradient + 2) * part / 2;  // two replicas hold the same part
  const double whole = 2 * gradient * of.whole * 7 / 8;
  const double norms = 2 * 4 * 15.0 / 16;
  CHECK(sent(job) == doctest::Approx(gathers + reductions + parts + whole + norms).epsilon(1e-9));
  Job in_passes = job;
  in_passes.strategy.overlap_grad_reduce = in_passes.strategy.overlap_param_gather = true;
  CHECK(sent(in_passes) == doctest::Approx(sent(job)).epsilon(1e-9));
  Job recomputed = job;
  recomputed.strategy.recompute = Recompute::full;
  CHECK(sent(recomputed) - sent(job) == doctest::Approx(2 * 2 * of.layers * 7 / 8));
}

TEST_CASE("a rank holds its part of weights and gradients, and the optimizer's state is divided over all replicas") {
  const Job job = job_with(8);
  const Lowered lowered(job);
  const Counted of = count(lowered);
  const MemoryUse use = divided_state(job, lowered.plans.front().parameters);
  const double part = (of.layers + of.tables) / 8 + of.whole;
  CHECK(use.parameters == doctest::Approx(2 * part));
  CHECK(use.gradients == doctest::Approx(gradient_bytes(job) * part));
  CHECK(use.optimizer == doctest::Approx(job.framework.memory.optimizer_bytes * part / 2));
  // Buffers of one layer's weights and of the tables: gathered, reduced, and a part of the latter.
  const double buffers = 12 * 1024 * 1024 + of.tables;
  CHECK(use.gathered == doctest::Approx(buffers * (2 + gradient_bytes(job) * (1 + 1.0 / 8))));
  Job whole_state = job;
  whole_state.strategy.zero = 0;
  CHECK(divided_state(whole_state, lowered.plans.front().parameters).optimizer == doctest::Approx(2 * use.optimizer));
}

TEST_CASE("a layer takes as long as its weights, one by one, where these take longer than its kernels") {
  const Job job = job_with(16, 4);  // over both nodes
  const Lowered lowered(job);
  const StagePlan& plan = lowered.plans.front();
  const HeldParameters& layer = plan.chunks.front().divided_of(1);
  const ReplicaCollective gather = weight_gather(2, layer).front();
  CHECK(gather.pieces == 4);
  const CommunicationCost one =
      plan.costs.communication.price(CollectiveKind::all_gather, 2 * layer.shared / 4, alone(plan.costs.weights_group));
  CHECK(price(gather, plan.costs).seconds == doctest::Approx(4 * one.seconds));
  double beside = 0;  // all collectives of the passes, which follow each other
  for (const bool forward : {true, false}) {
    const Pass::Kind kind = forward ? Pass::Kind::forward : Pass::Kind::backward;
    for (const PassPart& part : split_pass(job, plan.chunks.front(), kind)) {
      for (const ReplicaCollective& of : weight_gather(2, part.gathers)) beside += price(of, plan.costs).seconds;
      for (const ReplicaCollective& of : weight_reduction(job, part.reduces)) beside += price(of, plan.costs).seconds;
    }
  }
  double kernels = 0;
  for (const Pass::Kind kind : {Pass::Kind::forward, Pass::Kind::backward}) {
    kernels += to_seconds(plan.folded(plan.chunks.front(), kind).device);
  }
  CHECK(beside > 2 * kernels);
  const double added = (seconds(job) - seconds(job_with(16, 2))) / 2;  // one microbatch more
  CHECK(added >= beside);
  CHECK(added <= beside + kernels);
}

TEST_CASE("tensor ranks alone are no division, and passes are the same however they are written") {
  CHECK(seconds(job_with(1)) == seconds(job_with(0)));
  CHECK(sent(job_with(1)) == sent(job_with(0)));
  for (Job job : {job_with(8), mixture_with(4, 2), mixture_with(1, 2), mixture_with(4, 0)}) {
    for (const bool overlaps : {false, true}) {
      job.strategy.overlap_grad_reduce = job.strategy.overlap_param_gather = overlaps;
      const double folded = seconds(job);
      CHECK(simulate(job, all_ranks()).result.iteration_time_s == folded);
    }
  }
  CHECK(seconds(job_with(8)) > seconds(job_with(0)));
  CHECK(seconds(job_with(16)) > seconds(job_with(8)));
}

TEST_CASE("weights in MXFP8 cross in 8 bits, and a rank keeps rows and columns of its part") {
  Job job = job_with(8);
  job.cluster = cluster_of("hgx-b200", 2);
  job.training.precision = "bf16";
  Job narrow = job;
  narrow.training.precision = "mxfp8";
  narrow.training.fp8_parameters = true;
  const Lowered wide(job);
  const Lowered lowered(narrow);
  const Counted of = count(lowered);
  const double byte = 1 + 1.0 / 32;
  const StageParameters& parameters = lowered.plans.front().parameters;
  CHECK(parameters.gathered_bytes_per_element ==
        doctest::Approx((of.layers * byte + (of.tables + of.whole) * 2) / parameters.elements));
  CHECK(divided_state(narrow, parameters).parameters ==
        doctest::Approx((of.layers * 2 * byte + of.tables * 2) / 8 + of.whole * 2));
  CHECK(sent(narrow) < sent(job));
  // Nothing quantizes a weight in a pass, and after the step an eighth of a layer's.
  const double made = to_seconds(lowered.plans.front().bodies_of(1).folded_update.device);
  narrow.strategy.weight_shards = 16;
  const double half = to_seconds(Lowered(narrow).plans.front().bodies_of(1).folded_update.device);
  CHECK(made > 0);
  CHECK(made == doctest::Approx(2 * half).epsilon(1e-6));
}

TEST_CASE("stages of several chunks divide their weights, and sum tied embeddings part by part") {
  Job job = job_with(4);
  job.strategy.data = 4;
  job.strategy.pipeline = 4;
  job.strategy.virtual_pipeline = 1;
  job.model.layers = 8;
  job.model.tied_embeddings = true;
  job.training.global_batch = 32;
  Job chunks = job;
  chunks.strategy.schedule = schedule_named("interleaved-1f1b");
  chunks.strategy.virtual_pipeline = 2;
  for (const Job& of : {job, chunks}) {
    CHECK(simulate(of, all_ranks()).result.iteration_time_s == seconds(of));
    LoweringOptions steps;
    steps.operators = true;
    CHECK(simulate(of, steps).result.iteration_time_s == doctest::Approx(seconds(of)).epsilon(1e-9));
  }
  // Both ends all-reduce a quarter of the table: 2 (2 - 1)/2 of its bytes.
  const Program program = Lowered(job).program();
  double tied = 0;
  for (const TaskClass& of : program.classes) {
    if (of.name == "reduce tied embedding gradients") tied = of.bytes;
  }
  CHECK(tied == doctest::Approx(gradient_bytes(job) * Lowered(job).plans.front().parameters.tied_elements / 4));
}

TEST_CASE("experts are divided over the replicas that hold them, whatever becomes of other weights") {
  const auto of = [](const Job& job) {
    const Lowered lowered(job);
    return divided_state(lowered.job, lowered.plans.front().parameters);
  };
  const Lowered lowered(mixture_with(1, 2));
  const HeldParameters held = lowered.plans.front().parameters.held();
  CHECK(held.experts == 4 * 2 * 2 * (1024 * 1024 + 1024));  // layers, experts of a rank, matrices and their biases
  CHECK(lowered.plans.front().chunks.front().divided_of(1).total() == 2 * 2 * 1024 * 1024);
  CHECK(lowered.plans.front().chunks.front().divided_of(1).counts.tensors == 2);
  CHECK(of(mixture_with(1, 2)).parameters == doctest::Approx(2 * (held.shared + held.experts / 2)));
  CHECK(of(mixture_with(1, 4)).gradients ==
        doctest::Approx(gradient_bytes(lowered.job) * (held.shared + held.experts / 4)));
  // The weights that score experts stay whole.
  const Lowered both(mixture_with(4, 2));
  const double scores = 4 * 8 * 1024;
  const double whole = both.plans.front().parameters.counts.whole_elements;
  CHECK(of(both.job).parameters == doctest::Approx(2 * ((held.shared - whole) / 4 + whole + held.experts / 2)));
  CHECK(whole >= scores + 4 * 4 * 1024);
  CHECK(both.plans.front().chunks.front().divided_of(1).shared == 4 * 1024 * 1024);
}

}  // namespace divided_weights_test
