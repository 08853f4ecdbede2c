#include "program/lowering.hpp"

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace lowering_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::vector<Strategy> strategies() {
  std::vector<Strategy> out;
  const auto add = [&](int t, int p, int v, int d, ScheduleId schedule, bool sp, int zero, bool overlap) {
    Strategy s;
    s.tensor = t;
    s.pipeline = p;
    s.virtual_pipeline = v;
    s.data = d;
    s.schedule = schedule;
    s.sequence_parallel = sp;
    s.zero = zero;
    s.overlap_grad_reduce = overlap;
    out.push_back(s);
  };
  add(1, 1, 1, 16, schedule_named("1f1b"), false, 0, false);
  add(1, 1, 1, 16, schedule_named("1f1b"), false, 1, true);
  add(4, 4, 1, 1, schedule_named("gpipe"), false, 0, false);
  add(2, 4, 1, 2, schedule_named("1f1b"), true, 1, false);
  add(2, 2, 2, 4, schedule_named("interleaved-1f1b"), false, 0, false);
  add(2, 4, 2, 2, schedule_named("interleaved-1f1b"), true, 1, true);
  add(8, 2, 4, 1, schedule_named("interleaved-1f1b"), true, 0, false);
  add(4, 2, 1, 2, schedule_named("1f1b"), true, 0, false);
  out.back().overlap_tensor = true;
  for (const auto communication :
       {ContextCommunication::p2p, ContextCommunication::all_gather, ContextCommunication::all_to_all}) {
    add(2, 2, 1, 2, schedule_named("1f1b"), true, 1, true);
    out.back().context = 2;
    out.back().context_communication = communication;
  }
  return out;
}

Job job_of(const Strategy& strategy, const char* framework) {
  Job job = small_job(8, 2, strategy, 16);
  job.training.framework = framework;
  job.framework = test::framework_named(framework);
  return job;
}

}  // namespace

TEST_CASE("folded and unfolded, passes and operators, sweep and events: the same time to the picosecond") {
  for (const char* framework : {"megatron-lm-2021", "megatron-core"}) {
    for (const Strategy& strategy : strategies()) {
      Job job = job_of(strategy, framework);
      for (const double host : {0.0, 1.0, 30.0}) {  // 30 times slower: the host decides
        Job varied = job;
        varied.framework.host.forward_s *= host;
        varied.framework.host.backward_s *= host;
        const Lowered lowered(varied);
        INFO(framework << " t " << strategy.tensor << " p " << strategy.pipeline << " v " << strategy.virtual_pipeline
                       << " cp " << strategy.context << " over " << static_cast<int>(strategy.context_communication)
                       << " sp " << strategy.sequence_parallel << " m " << strategy.micro_batch << " overlap "
                       << strategy.overlap_tensor << " host x" << host);
        const Picoseconds expected = execute(lowered.program()).makespan;
        CHECK(expected > 0);
        for (const LoweringOptions& options : {LoweringOptions{true, false}, {false, true}, {true, true}}) {
          const Program program = lowered.program(options);
          program.validate();
          INFO("unfolded " << options.unfolded << " operators " << options.operators);
          if (!program.shares_links()) CHECK(execute(program, Executor::sweep).makespan == expected);
          CHECK(execute(program, Executor::events).makespan == expected);
        }
      }
    }
  }
}

TEST_CASE("a folded program has one rank per stage, standing for tensor x context x data ranks") {
  for (const Strategy& strategy : strategies()) {
    const Lowered lowered(job_of(strategy, "megatron-core"));
    const Program folded = lowered.program();
    CHECK(folded.ranks.size() == static_cast<std::size_t>(strategy.pipeline));
    for (const ProgramRank& rank : folded.ranks) {
      CHECK(rank.multiplicity == static_cast<std::uint32_t>(strategy.team() * strategy.data));
    }
    const Program unfolded = lowered.program({true, false});
    CHECK(unfolded.ranks.size() == static_cast<std::size_t>(strategy.ranks()));
    std::map<std::uint32_t, int> seen;
    for (const ProgramRank& rank : unfolded.ranks) ++seen[rank.rank];
    CHECK(seen.size() == unfolded.ranks.size());
  }
}

TEST_CASE("bytes sent are bytes received, and unfolding multiplies them by the ranks") {
  for (const Strategy& strategy : strategies()) {
    const Lowered lowered(job_of(strategy, "megatron-lm-2021"));
    const Program folded = lowered.program();
    const Program unfolded = lowered.program({true, false});
    for (const Program* program : {&folded, &unfolded}) {
      CHECK(bytes_on(*program, StreamKind::send_forward) == bytes_on(*program, StreamKind::recv_forward));
      CHECK(bytes_on(*program, StreamKind::send_backward) == bytes_on(*program, StreamKind::recv_backward));
    }
    const double ranks = strategy.team() * strategy.data;
    for (const StreamKind stream : {StreamKind::send_forward, StreamKind::send_backward, StreamKind::data}) {
      CHECK(bytes_on(unfolded, stream) == doctest::Approx(ranks * bytes_on(folded, stream)).epsilon(1e-12));
    }
  }
}

TEST_CASE("what crosses stages: one activation per boundary and microbatch, scattered over tensor ranks") {
  Strategy strategy;
  strategy.tensor = 4;
  strategy.pipeline = 2;
  strategy.data = 2;
  const Lowered lowered(job_of(strategy, "megatron-lm-2021"));
  const Program program = lowered.program();
  // 16 sequences / (2 replicas x 1) = 8 microbatches over one boundary; 2 bytes x 512 x 1024 / 4 each.
  CHECK(bytes_on(program, StreamKind::send_forward) == 8 * 2.0 * 512 * 1024 / 4);
  CHECK(bytes_on(program, StreamKind::send_backward) == bytes_on(program, StreamKind::send_forward));
}

TEST_CASE("ZeRO 1 sends as much as an all-reduce: a reduce-scatter of gradients, an all-gather of parameters") {
  Strategy strategy;
  strategy.data = 16;
  const auto sent = [&](int zero) {
    strategy.zero = zero;
    const Lowered lowered(job_of(strategy, "megatron-core"));
    return std::pair(bytes_on(lowered.program(), StreamKind::data), lowered.plans[0].parameters.elements);
  };
  const auto [all_reduce, parameters] = sent(0);
  const auto [sharded, same] = sent(1);
  CHECK(parameters == same);
  // Gradients of 4 bytes, parameters of 2, (d - 1)/d = 15/16 of each.
  CHECK(all_reduce == doctest::Approx(2 * 4 * parameters * 15 / 16));
  CHECK(sharded == doctest::Approx((4 + 2) * parameters * 15 / 16));
}

TEST_CASE("buckets: the same bytes are reduced, and overlapping them never takes longer") {
  Strategy strategy;
  strategy.data = 16;
  Job job = job_of(strategy, "megatron-core");
  job.framework.sharding.bucket_parameters = 15e6;  // about a layer
  const Lowered plain(job);
  job.strategy.overlap_grad_reduce = true;
  const Lowered overlapped(job);
  const Program one = plain.program();
  const Program many = overlapped.program();
  CHECK(bytes_on(many, StreamKind::data) == doctest::Approx(bytes_on(one, StreamKind::data)).epsilon(1e-9));
  CHECK(execute(many).makespan < execute(one).makespan);
}

TEST_CASE("overlapped buckets and transfers share the ports: never faster than with ports of their own") {
  Strategy strategy;
  strategy.pipeline = 2;
  strategy.data = 16;
  strategy.overlap_grad_reduce = true;
  Job job = job_of(strategy, "megatron-core");
  job.cluster = cluster_of("dgx-a100-80g", 4);
  job.training.global_batch = 64;
  job.framework.sharding.bucket_parameters = 5e6;
  const Lowered lowered(job);
  Program shared = lowered.program();
  REQUIRE(shared.shares_links());
  const Picoseconds with = execute(shared).makespan;
  for (TaskClass& described : shared.classes) described.traffic = kNoTraffic;
  shared.link_uses.clear();
  const Picoseconds without = execute(shared).makespan;
  CHECK(with >= without);
  CHECK(to_seconds(with) < 2 * to_seconds(without));
}

TEST_CASE(
    "the host of an eager framework per GPT layer: 1.0 and 1.2 ms, 0.1 ms for collectives, 20 us for each rank they "
    "meet") {
  const auto host_s = [](int tensor) {
    Strategy strategy;
    strategy.tensor = tensor;
    strategy.data = 16 / tensor;
    Job job = job_of(strategy, "megatron-lm-2021");
    job.model.dropout = 0.1;
    const Lowered lowered(job);
    const BlockBodies& layer = lowered.plans[0].bodies_of(lowered.blocks.layer_id(0));
    return std::pair(to_seconds(layer.folded_forward.host), to_seconds(layer.folded_backward.host));
  };
  const auto [forward, backward] = host_s(1);
  CHECK(forward == doctest::Approx(1.0e-3).epsilon(1e-6));
  CHECK(backward == doctest::Approx(1.2e-3).epsilon(1e-6));
  const auto [forward2, backward2] = host_s(2);
  CHECK(forward2 + backward2 == doctest::Approx(2.36e-3).epsilon(1e-6));
}

TEST_CASE("a GPU without a fused attention kernel makes the whole job do without") {
  Strategy strategy;
  strategy.pipeline = 2;
  strategy.data = 8;
  Job job = job_of(strategy, "megatron-core");
  job.training.precision = "fp16";
  const NodeAllotment a100 = cluster_of("dgx-a100-80g", 1).groups()[0];
  const NodeAllotment v100 = cluster_of("dgx-1-v100-32g", 1).groups()[0];
  const auto has_fused = [](const Lowered& lowered) {
    const auto& operators = lowered.blocks.layer().graph.operators;
    return std::any_of(operators.begin(), operators.end(),
                       [](const Operator& op) { return op.kind == OperatorKind::attention; });
  };
  CHECK(has_fused(Lowered(job)));
  for (const bool first : {false, true}) {
    job.cluster = Cluster({first ? v100 : a100, first ? a100 : v100}, default_fabric());
    const Lowered lowered(job);
    CHECK_FALSE(has_fused(lowered));
    CHECK(execute(lowered.program()).makespan > 0);
  }
}

TEST_CASE("a mixed cluster: stages on different types of nodes") {
  Strategy strategy;
  strategy.pipeline = 2;
  strategy.data = 8;
  Job job = job_of(strategy, "megatron-core");
  const NodeAllotment a100 = cluster_of("dgx-a100-80g", 1).groups()[0];
  const NodeAllotment h100 = cluster_of("hgx-h100", 1).groups()[0];
  job.cluster = Cluster({a100, h100}, default_fabric());
  const Lowered lowered(job);
  CHECK(lowered.plans[0].costs.hardware->hardware.gpu.name == "a100-80g");
  CHECK(lowered.plans[1].costs.hardware->hardware.gpu.name == "h100");
  CHECK(lowered.plans[0].folded(lowered.plans[0].chunks[0], Pass::Kind::forward).device >
        lowered.plans[1].folded(lowered.plans[1].chunks[0], Pass::Kind::forward).device);
  CHECK(lowered.plans.size() == 2);
  job.strategy.pipeline = 1;
  job.strategy.tensor = 16;
  job.strategy.data = 1;
  CHECK_THROWS_WITH_AS(Lowered{job}, doctest::Contains("replica 0 of pipeline stage 0"), Error);
}

}  // namespace lowering_test
