// Laws of what passes exchange inside, where links between switches may be short of it.

#include "engine/execute.hpp"
#include "job_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// 8 nodes of 8 A100, leaves of two nodes; 32 experts over 32 ranks, four nodes each.
Job mixture_on(const std::string& fabric, int pipeline, bool overlap, ExpertDispatcher dispatcher, int layers = 4) {
  Strategy s;
  s.pipeline = pipeline;
  s.data = 64 / pipeline;
  s.expert = 32;
  s.expert_dispatcher = dispatcher;
  s.overlap_grad_reduce = overlap;
  s.zero = 1;
  Job job = small_job(layers, 8, s, 4 * s.data);
  job.model.linear_bias = job.model.qkv_bias = false;
  job.model.mixture = {.experts = 32, .per_token = 2, .ffn = 512, .shared_ffn = 0, .first_dense = 0, .every = 1};
  job.cluster = nodes_on(fabric, 8);
  return job;
}

std::string leaves_of_two(double oversubscription) {
  return "{type: fat-tree, leaf_ports: 16, oversubscription: " + std::to_string(oversubscription) + "}";
}

Picoseconds time_of(const Job& job, const LoweringOptions& options = {}) {
  const Program program = Lowered(job).program(options);
  program.validate();
  return execute(program).makespan;
}

constexpr LoweringOptions kUnfolded = {.unfolded = true, .operators = false, .passes_alone = false};
constexpr LoweringOptions kWholePasses = {.unfolded = false, .operators = false, .passes_alone = true};
constexpr LoweringOptions kOperators = {.unfolded = false, .operators = true, .passes_alone = false};

}  // namespace

TEST_CASE("exchanges inside passes: where nothing else uses a network that suffices, passes stay whole") {
  for (const ExpertDispatcher dispatcher : {ExpertDispatcher::all_to_all, ExpertDispatcher::deep_ep}) {
    const Job enough = mixture_on(leaves_of_two(1), 1, false, dispatcher);
    CHECK(time_of(enough) == time_of(mixture_on("{type: full-bisection}", 1, false, dispatcher)));
    const Program program = Lowered(enough).program();
    CHECK(std::none_of(program.streams.begin(), program.streams.end(),
                       [](const Stream& stream) { return stream.kind == StreamKind::expert; }));
  }
}

TEST_CASE("exchanges inside passes: gradients and transfers between stages take of the ports that exchanges use") {
  for (const ExpertDispatcher dispatcher : {ExpertDispatcher::all_to_all, ExpertDispatcher::deep_ep}) {
    for (const int pipeline : {1, 2}) {
      CAPTURE(pipeline);
      Job job = mixture_on("{type: full-bisection}", pipeline, true, dispatcher, 24);
      job.training.sequence_length = job.model.max_sequence = 4096;
      job.model.mixture.ffn = 4096;
      const Picoseconds time = time_of(job);
      CHECK(time == time_of(job, kUnfolded));
      CHECK(time == time_of(job, kOperators));
      CHECK(Lowered(job).program().shares_links());
      CHECK(time > time_of(job, kWholePasses));
      CHECK(time < time_of(job, kWholePasses) * 3 / 2);
    }
  }
}

TEST_CASE("exchanges inside passes: collectives of a node may be part of the steps between them, in the same time") {
  for (const int pipeline : {1, 2}) {
    for (const bool overlap : {false, true}) {
      Job job = mixture_on("{type: full-bisection}", pipeline, true, ExpertDispatcher::all_to_all, 24);
      Strategy& s = job.strategy;
      s.tensor = 2;
      s.data /= 2;
      s.expert = 16;
      s.sequence_parallel = true;
      s.overlap_tensor = overlap;
      job.training.sequence_length = job.model.max_sequence = 4096;
      CAPTURE(pipeline);
      CAPTURE(overlap);
      const Program all = Lowered(job).program();
      REQUIRE(all.shares_links());
      const Program fewer = Lowered(job).program({.longest_steps = true});
      CHECK(fewer.size() < all.size() / 2);
      CHECK(execute(fewer).makespan == execute(all).makespan);
    }
  }
}

TEST_CASE("exchanges inside passes: both foldings and both levels of detail take the same time") {
  for (const double oversubscription : {2.0, 16.0}) {
    for (const int pipeline : {1, 2}) {
      for (const ExpertDispatcher dispatcher : {ExpertDispatcher::all_to_all, ExpertDispatcher::deep_ep}) {
        CAPTURE(oversubscription);
        CAPTURE(pipeline);
        const Job job = mixture_on(leaves_of_two(oversubscription), pipeline, pipeline == 1, dispatcher);
        const Picoseconds time = time_of(job);
        CHECK(time == time_of(job, kUnfolded));
        CHECK(time == time_of(job, kOperators));
      }
    }
  }
}

TEST_CASE("exchanges inside passes: they are slower over short links, and an estimate without them is not") {
  const auto of = [](double oversubscription, bool alone) {
    LoweringOptions options;
    options.passes_alone = alone;
    return time_of(mixture_on(leaves_of_two(oversubscription), 1, false, ExpertDispatcher::all_to_all), options);
  };
  CHECK(of(16, false) > of(4, false));
  CHECK(of(4, false) > of(1, false));
  CHECK(of(16, true) < of(16, false));
}

// Two expert groups of four nodes each: what one sends out of a leaf of two nodes is half of what its ports carry, so
// links for half of them are enough, and with a quarter it takes twice as long on the wire.
TEST_CASE("exchanges inside passes: where a leaf's links are half of what leaves it, exchanges take twice as long") {
  const auto exchange_of = [](double oversubscription) {
    const Job job = mixture_on(leaves_of_two(oversubscription), 1, false, ExpertDispatcher::all_to_all);
    const Program program = Lowered(job).program(kOperators);
    const Timeline timeline = execute(program);
    Picoseconds longest = 0;
    for (TaskId task = 0; task < program.size(); ++task) {
      const bool exchanges = program.streams[program.stream[task]].kind == StreamKind::expert;
      if (exchanges) longest = std::max(longest, timeline.end[task] - timeline.start[task]);
    }
    return static_cast<double>(longest);
  };
  const double alone = exchange_of(1);
  const double half = exchange_of(32);
  CHECK(exchange_of(64) / half == doctest::Approx(2).epsilon(1e-6));
  CHECK(half > alone);
}

TEST_CASE("exchanges inside passes: gradients on the same links slow them down") {
  const auto of = [](bool overlap) {
    const Job job = mixture_on(leaves_of_two(8), 1, overlap, ExpertDispatcher::all_to_all, 24);
    const Program program = Lowered(job).program();
    const Timeline timeline = execute(program);
    Picoseconds longer = 0;  // than alone, of all exchanges
    for (TaskId task = 0; task < program.size(); ++task) {
      if (program.streams[program.stream[task]].kind != StreamKind::expert) continue;
      longer += timeline.end[task] - timeline.start[task] - program.duration[task];
    }
    return longer;
  };
  CHECK(of(true) > of(false));
}
