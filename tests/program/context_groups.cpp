#include "job_fixture.hpp"
#include "simulation/laws.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace context_groups_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

// Two DGX A100, context ranks over both.
Job job_with(int context, int heads, ContextCommunication how = ContextCommunication::p2p, int tensor = 1) {
  Strategy strategy = sized(tensor, 16 / tensor / context, 1);
  strategy.context = context;
  strategy.context_heads = heads;
  strategy.context_communication = how;
  Job job = small_job(4, 2, strategy, 16);
  job.framework = framework_named("megatron-core");  // whose attention is fused
  return job;
}

}  // namespace

TEST_CASE("ranks that divide heads are neighbors, and a ring joins the same place of each group") {
  const Job job = job_with(8, 4, ContextCommunication::p2p, 2);
  CHECK(job.heads_group(0) == std::vector<int>{0, 2, 4, 6});
  CHECK(job.context_group(0) == std::vector<int>{0, 8});
  CHECK(job.data_group(0) == std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14});
  CHECK(job_with(8, 1).heads_group(0) == std::vector<int>{0});
}

TEST_CASE("folded and unfolded programs of such groups take the same time, and no law is broken") {
  for (const auto how : {ContextCommunication::p2p, ContextCommunication::all_gather}) {
    for (const int tensor : {1, 2}) {
      const Job job = job_with(8, 2, how, tensor);
      const Simulation folded = simulate(job);
      LoweringOptions all;
      all.unfolded = true;
      CHECK(simulate(job, all).timeline.makespan == folded.timeline.makespan);
      LoweringOptions operators;
      operators.operators = true;
      CHECK(simulate(job, operators).timeline.makespan == folded.timeline.makespan);
      CHECK(broken_laws(job, folded.result).empty());
    }
  }
}

TEST_CASE("groups divide the same work as a ring and as heads alone, and keep all-to-alls within a node") {
  const IterationResult ring = simulate(job_with(16, 1)).result;
  const IterationResult groups = simulate(job_with(16, 8)).result;
  const IterationResult heads = simulate(job_with(16, 1, ContextCommunication::all_to_all)).result;
  CHECK(groups.model_flop == doctest::Approx(ring.model_flop));
  CHECK(groups.model_flop == doctest::Approx(heads.model_flop));
  CHECK(groups.stages.front().memory.peak.parameters == ring.stages.front().memory.peak.parameters);
  const auto exposed = [](const IterationResult& of) {
    return of.activity_s[static_cast<std::size_t>(Activity::context_communication)];
  };
  // All-to-alls of sixteen ranks cross the network; those of eight do not, and one shift beside attention does.
  CHECK(exposed(groups) < exposed(heads));
}

TEST_CASE("a query of a window sees as many keys where its rank gathers those of others as where it has all") {
  const auto executed = [](int context, std::int64_t window) {
    Job job = job_with(context, 1, ContextCommunication::all_gather);
    job.model.max_sequence = job.training.sequence_length = 8192;
    job.model.window.tokens = window;
    const IterationResult result = simulate(job).result;
    CHECK(broken_laws(job, result).empty());
    return result.executed_flop;
  };
  for (const std::int64_t window : {0, 128, 1024}) {
    CAPTURE(window);
    CHECK(executed(4, window) == doctest::Approx(executed(1, window)).epsilon(0.04));
  }
  CHECK(executed(4, 1024) < 0.9 * executed(4, 0));
}

}  // namespace context_groups_test
