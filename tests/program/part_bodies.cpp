// Two parts of a microbatch beside each other (strategy.nanobatches: 2).

#include "program/part_bodies.hpp"

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>

using namespace mirfak;
using namespace mirfak::test;

namespace part_bodies_test {

namespace {

BodyStep step(const char* name, StreamKind stream, Picoseconds device, std::vector<int> after) {
  BodyStep out;
  out.name = name;
  out.stream = stream;
  out.device = device;
  out.after = std::move(after);
  return out;
}

// A layer of attention and MLP, each with an all-reduce behind it.
Body layer(Picoseconds attention, Picoseconds mlp, Picoseconds reduction) {
  return {{step("attention", StreamKind::compute, attention, {}), step("c1", StreamKind::tensor, reduction, {0}),
           step("mlp", StreamKind::compute, mlp, {1}), step("c2", StreamKind::tensor, reduction, {2})}};
}

Picoseconds row_of_layers(const RowBodies& row, int layers) {
  FoldedBody out;
  for (int i = 0; i < layers; ++i) append(out, row.placed({i > 0, i + 1 < layers}).folded);
  return out.device;
}

// Time of a row of blocks whose steps are executed on their streams in the order of the row's bodies, where a step
// waits for the steps before it of its own part alone: nothing meets between two blocks.
Picoseconds without_meetings(const RowBodies& row, int layers) {
  std::array<Picoseconds, kStreamKinds> free{};
  std::array<Picoseconds, 2> of_part{};
  for (int i = 0; i < layers; ++i) {
    const PairedBody& paired = row.placed({i > 0, i + 1 < layers}).steps;
    for (std::size_t at = 0; at < paired.body.steps.size(); ++at) {
      const BodyStep& each = paired.body.steps[at];
      Picoseconds& own = of_part[paired.origins[at].backward ? 1 : 0];
      Picoseconds& stream = free[static_cast<std::size_t>(each.stream)];
      own = stream = std::max(own, stream) + each.device;
    }
  }
  return std::max(of_part[0], of_part[1]);
}

Job parted(Job job) {
  job.framework.parallelism.nanobatches = true;
  job.strategy.nanobatches = 2;
  return job;
}

Job parted_job(int tensor, int context, bool sequence_parallel, Recompute recompute, double host) {
  Strategy strategy;
  strategy.tensor = tensor;
  strategy.context = context;
  strategy.context_communication = ContextCommunication::all_gather;
  strategy.pipeline = 2;
  strategy.data = 2;
  strategy.micro_batch = 2;
  strategy.sequence_parallel = sequence_parallel;
  strategy.recompute = recompute;
  strategy.overlap_grad_reduce = tensor == 2;
  Job job = parted(small_job(8, 2, strategy, 16));
  job.training.framework = "megatron-core";
  job.framework = framework_named("megatron-core");
  job = parted(std::move(job));
  job.framework.host.forward_s *= host;
  job.framework.host.backward_s *= host;
  return job;
}

}  // namespace

TEST_CASE("all-reduces hide behind the other part, except for the last of a row") {
  // Kernels of 10 and 20 a part, all-reduces of 4 and 4.
  const RowBodies row = row_bodies(layer(10, 20, 4), 0);
  // K: A 0-10, B 10-20, MLP A 20-40 (c1 A 10-14, c1 B 20-24), MLP B 40-60 (c2 A 40-44), c2 B 60-64.
  CHECK(row_of_layers(row, 1) == 64);
  // Layers inside of a row take their kernels' time.
  CHECK(row_of_layers(row, 5) == 5 * 60 + 4);
  // All-reduces longer than kernels decide: c1 A 10-40, B 40-70, c2 A 70-100, B 100-130, then the next layer's
  // attention of A ends behind c2 A, 110, before c1 A can begin at 130.
  CHECK(row_of_layers(row_bodies(layer(10, 20, 30), 0), 1) == 130);
  CHECK(row_of_layers(row_bodies(layer(10, 20, 30), 0), 2) == 250);
}

TEST_CASE("blocks of a row meet at no cost, and a row has all the work of both parts") {
  std::mt19937 random(7);
  const auto draw = [&](int most) { return static_cast<Picoseconds>(1 + random() % static_cast<unsigned>(most)); };
  for (int round = 0; round < 300; ++round) {
    Body part = layer(draw(20), draw(20), draw(20));
    if (round % 2 == 0) part.steps.push_back(step("sum", StreamKind::compute, draw(5), {3}));
    for (std::size_t i = 0; i < part.steps.size(); ++i) part.steps[i].flop = static_cast<double>(i + 1);
    const RowBodies row = row_bodies(part, 0);
    for (const int layers : {1, 2, 3, 7}) {
      CAPTURE(round);
      CAPTURE(layers);
      const Picoseconds together = row_of_layers(row, layers);
      CHECK(together == without_meetings(row, layers));
      // No less than either stream's work, no more than one part after the other.
      CHECK(together >= 2 * layers * fold(part).kernels);
      CHECK(together <= 2 * layers * fold(part).device);
      double flop = 0;
      for (int i = 0; i < layers; ++i) flop += row.placed({i > 0, i + 1 < layers}).folded.flop;
      CHECK(flop == 2 * layers * fold(part).flop);
    }
  }
}

TEST_CASE("a kernel that needs the memory's bandwidth is slower beside a collective that uses it") {
  // A collective of 1 us takes 0.4 of 1e12 bytes/s, and leaves 0.6 to a kernel that needs all: 0.4 us are made up for.
  Body collective{{step("c", StreamKind::tensor, 1'000'000, {})}};
  collective.steps.front().held_share = 0.1;
  collective.steps.front().memory_bytes = 0.4e6;
  Body kernel{{step("k", StreamKind::compute, 3'000'000, {})}};
  kernel.steps.front().bytes = 3e6;
  CHECK(fold(pair_bodies(collective, kernel, 1e12).body).device == 3'400'000);
  // A kernel that needs half of it loses the multiprocessors alone.
  kernel.steps.front().bytes = 1.5e6;
  CHECK(fold(pair_bodies(collective, kernel, 1e12).body).device == 3'100'000);
}

TEST_CASE("blocks hand on only to blocks whose late steps are alike") {
  const RowBodies row = row_bodies(layer(10, 20, 4), 0);
  CHECK(hands_on(row, row_bodies(layer(11, 20, 4), 0)));
  CHECK_FALSE(hands_on(row, row_bodies(layer(10, 20, 5), 0)));
  CHECK_FALSE(hands_on(row, RowBodies()));
}

TEST_CASE("microbatches in two parts: folded and unfolded, passes and operators take the same time") {
  for (const bool sequence_parallel : {false, true}) {
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      for (const double host : {0.0, 1.0, 30.0}) {
        for (const auto& degrees : {std::pair(2, 1), std::pair(2, 2), std::pair(1, 2)}) {
          const int tensor = degrees.first;
          const int context = degrees.second;
          if (sequence_parallel && tensor == 1) continue;
          const Lowered lowered(parted_job(tensor, context, sequence_parallel, recompute, host));
          CAPTURE(tensor);
          CAPTURE(context);
          CAPTURE(host);
          const Picoseconds expected = execute(lowered.program()).makespan;
          for (const LoweringOptions& options : {LoweringOptions{true, false}, {false, true}, {true, true}}) {
            const Program program = lowered.program(options);
            program.validate();
            CHECK(execute(program, Executor::events).makespan == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("microbatches in two parts: the same FLOPs, twice the reads of weights, faster where communication is long") {
  Job job = parted_job(2, 1, false, Recompute::none, 0);
  const Lowered parts(job);
  job.strategy.nanobatches = 1;
  const Lowered whole(job);
  const BlockBodies& two = parts.plans.front().bodies_of(parts.blocks.layer_id(0));
  const BlockBodies& one = whole.plans.front().bodies_of(whole.blocks.layer_id(0));
  CHECK(two.model_flop == doctest::Approx(one.model_flop).epsilon(1e-12));
  CHECK(two.folded_forward.bytes > one.folded_forward.bytes);
  CHECK(two.folded_forward.kernels >= one.folded_forward.kernels);
  // No pass takes less than its blocks do: searches bound passes so.
  for (const StagePlan& plan : parts.plans) {
    for (const Pass::Kind kind : {Pass::Kind::forward, Pass::Kind::backward}) {
      Picoseconds least = 0;
      for (const BlockRun& run : plan.chunks.front().runs) {
        const BlockBodies& bodies = plan.bodies_of(run.block);
        least += run.count * (is_forward(kind) ? bodies.folded_forward : bodies.folded_backward).device;
      }
      CHECK(plan.folded(plan.chunks.front(), kind).device >= least);
    }
  }
  const auto time_of = [&](int nanobatches, int multiprocessors) {
    Job slow = job;
    slow.strategy.nanobatches = nanobatches;
    slow.strategy.communication_sms = multiprocessors;
    return execute(Lowered(slow).program()).makespan;
  };
  // Collectives of a single channel carry 20 GB/s: as long as kernels, which then hide them.
  CHECK(time_of(2, 1) < time_of(1, 1));
  CHECK(time_of(1, 1) > time_of(1, 4));
  CHECK(time_of(1, 4) > time_of(1, 0));
  CHECK(time_of(1, 64) == time_of(1, 0));
}

}  // namespace part_bodies_test
