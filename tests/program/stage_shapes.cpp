// Pipeline stages of their own shape: each with its own tensor and data sizes.

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "program/memory.hpp"
#include "program/transfer_cost.hpp"
#include "simulation/iteration.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <variant>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// A strategy of such stages, as the reader of scenarios completes it.
Strategy shaped(std::vector<StageShape> stages, std::vector<int> layers = {}, int micro_batch = 1) {
  Strategy s;
  s.pipeline = static_cast<int>(stages.size());
  s.layer_split = std::move(layers);
  s.micro_batch = micro_batch;
  const StageShape widest = *std::max_element(stages.begin(), stages.end(),
                                              [](const StageShape& a, const StageShape& b) { return a.data < b.data; });
  s.tensor = widest.tensor;
  s.data = widest.data;
  s.expert = widest.expert;
  s.stages = std::move(stages);
  return s;
}

// Embeddings that are not tied, and a vocabulary that no padding changes.
Job job_of(const Strategy& strategy, const char* framework = "megatron-lm-2021") {
  Job job = small_job(8, 2, strategy, 16);
  job.model.tied_embeddings = false;
  job.training.framework = framework;
  job.framework = test::framework_named(framework);
  return job;
}

constexpr StageShape kWide{4, 2, 1};  // a node of 8
constexpr StageShape kFlat{2, 4, 1};
constexpr StageShape kDeep{8, 1, 1};

std::vector<Strategy> shapes() {
  std::vector<Strategy> out;
  out.push_back(shaped({kWide, kFlat}));
  out.push_back(shaped({kFlat, kWide}, {5, 3}));
  out.push_back(shaped({kDeep, kFlat}));
  out.push_back(shaped({{1, 8, 1}, kDeep}, {}, 2));
  out.push_back(shaped({{4, 1, 1}, {2, 2, 1}, {2, 1, 1}, {1, 2, 1}, {4, 1, 1}}, {2, 2, 1, 1, 2}));
  out.push_back(shaped({kWide, kWide}));
  return out;
}

// Bytes that all ranks together send, or receive, in transfers between stages.
double transferred(const Program& program, bool sending) {
  double bytes = 0;
  for (TaskId task = 0; task < program.size(); ++task) {
    const Stream& stream = program.streams[program.stream[task]];
    const bool sends = stream.kind == StreamKind::send_forward || stream.kind == StreamKind::send_backward;
    if (program.class_of(task).kind != TaskKind::transfer || sends != sending) continue;
    bytes += program.class_of(task).bytes * program.ranks[stream.rank].multiplicity;
  }
  return bytes;
}

const TransferWork& transfer_from(const Program& program, int stage, bool forward) {
  for (const TaskClass& described : program.classes) {
    const bool way = described.name == (forward ? "send activations" : "send gradients");
    if (way && described.stage == stage) return std::get<TransferWork>(described.work);
  }
  FAIL("no such transfer");
  return std::get<TransferWork>(program.classes.front().work);
}

double residual_bytes(const Job& job, int stage) { return shard_blocks(job).at(stage).stream_bytes(1); }

}  // namespace

TEST_CASE("stages: equal shapes are the plain strategy, to the bit") {
  for (const int zero : {0, 1}) {
    for (const bool overlap : {false, true}) {
      for (const bool sequence : {false, true}) {
        Strategy plain;
        plain.tensor = 4;
        plain.pipeline = 2;
        plain.data = 2;
        plain.zero = zero;
        plain.overlap_grad_reduce = overlap;
        plain.sequence_parallel = sequence;
        Strategy stages = plain;
        stages.stages = {kWide, kWide};
        Job one = job_of(plain);
        Job other = job_of(stages);
        one.model.tied_embeddings = other.model.tied_embeddings = true;
        for (const LoweringOptions& options : {LoweringOptions{}, {true, false}, {true, true}}) {
          const Simulation a = simulate(one, options);
          const Simulation b = simulate(other, options);
          CHECK(a.timeline.makespan == b.timeline.makespan);
          CHECK(a.result.energy_j == b.result.energy_j);
          CHECK(a.result.model_flop == b.result.model_flop);
          CHECK(a.program.size() == b.program.size());
          CHECK(a.program.duration == b.program.duration);
          for (std::size_t stage = 0; stage < 2; ++stage) {
            CHECK(a.result.stages[stage].memory == b.result.stages[stage].memory);
            CHECK(a.result.stages[stage].activity_s == b.result.stages[stage].activity_s);
          }
        }
      }
    }
  }
}

TEST_CASE("stages: folded and unfolded, passes and operators, sweep and events: the same time to the picosecond") {
  for (const char* framework : {"megatron-lm-2021", "megatron-core"}) {
    for (Strategy strategy : shapes()) {
      for (const int zero : {0, 1}) {
        for (const bool sequence : {false, true}) {
          strategy.zero = zero;
          strategy.overlap_grad_reduce = zero == 1;
          strategy.sequence_parallel = sequence;
          const Lowered lowered(job_of(strategy, framework));
          INFO(framework << " stages " << strategy.stages.size() << " of " << strategy.stages[0].tensor << " zero "
                         << zero << " sp " << sequence);
          const Picoseconds expected = execute(lowered.program()).makespan;
          CHECK(expected > 0);
          for (const LoweringOptions& options : {LoweringOptions{true, false}, {false, true}, {true, true}}) {
            const Program program = lowered.program(options);
            program.validate();
            INFO("unfolded " << options.unfolded << " operators " << options.operators);
            CHECK(execute(program, Executor::events).makespan == expected);
            if (!program.shares_links()) CHECK(execute(program, Executor::sweep).makespan == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("stages: with schedules that split backward passes too") {
  for (const char* schedule : {"gpipe", "zb-h1", "zb-auto"}) {
    Strategy strategy = shaped({kWide, kFlat});
    strategy.schedule = schedule_named(schedule);
    const Lowered lowered(job_of(strategy));
    const Picoseconds expected = execute(lowered.program()).makespan;
    CHECK(execute(lowered.program({true, true})).makespan == expected);
  }
}

// With communication and the host for free, two stages of 1F1B, m microbatches: the first stage's forward passes fill
// the pipeline, then the slower stage decides: with forward and backward times f0, b0 and f1, b1 and both stages'
// passes of a microbatch in turns, m max(f0 + b0, f1 + b1) + the other's passes of one microbatch.
TEST_CASE("stages: the time of 1F1B by its closed form, each stage with its own times") {
  for (const std::vector<int>& layers : {std::vector<int>{6, 2}, std::vector<int>{2, 6}}) {
    Job job = free_communication(job_of(shaped({kWide, kFlat}, layers)));
    job.training.optimizer = Optimizer::none;
    const Lowered lowered(job);
    const auto passes = [&](std::size_t stage, Pass::Kind kind) {
      return lowered.plans[stage].folded(lowered.plans[stage].chunks[0], kind).device;
    };
    const Picoseconds first = passes(0, Pass::Kind::forward) + passes(0, Pass::Kind::backward);
    const Picoseconds last = passes(1, Pass::Kind::forward) + passes(1, Pass::Kind::backward);
    constexpr int kMicrobatches = 4;  // 16 sequences, 4 at once
    REQUIRE(lowered.plans[1].microbatches_of(0) == kMicrobatches);
    const double expected = to_seconds(kMicrobatches * std::max(first, last) + std::min(first, last));
    const double time = to_seconds(execute(lowered.program()).makespan);
    CHECK(time == doctest::Approx(expected).epsilon(2e-3));  // collectives of no bytes still have a launch
  }
}

TEST_CASE("stages: a microbatch is the same sequences on every stage, and all FLOPs are done once") {
  Job plain = job_of({});
  plain.strategy.data = 16;
  const double flop = simulate(plain).result.model_flop;
  for (const Strategy& strategy : shapes()) {
    const Job job = job_of(strategy);
    const Simulation s = simulate(job);
    CHECK(s.result.model_flop == doctest::Approx(flop).epsilon(1e-12));
    CHECK(s.result.gpus == 16);
    for (int stage = 0; stage < strategy.pipeline; ++stage) {
      const Strategy own = strategy.at(stage);
      CHECK(own.micro_batch * own.data == strategy.micro_batch * strategy.data);
      CHECK(s.plans[static_cast<std::size_t>(stage)].ranks == own.tensor * own.data);
    }
  }
}

TEST_CASE("stages: the memory of a stage is that of a plain strategy of its sizes") {
  const Strategy strategy = shaped({kWide, kFlat});
  const Simulation s = simulate(job_of(strategy));
  for (int stage = 0; stage < 2; ++stage) {
    Job plain = job_of(strategy.at(stage));
    plain.strategy.stages.clear();
    const Simulation alike = simulate(plain);
    const auto place = static_cast<std::size_t>(stage);
    CHECK(s.result.stages[place].memory == alike.result.stages[place].memory);
    // Stages alike in shape compute as much in a pass, too.
    CHECK(s.plans[place].folded(s.plans[place].chunks[0], Pass::Kind::forward).flop ==
          alike.plans[place].folded(alike.plans[place].chunks[0], Pass::Kind::forward).flop);
  }
}

TEST_CASE("stages: bytes sent are bytes received, and what crosses is what both shardings say") {
  for (Strategy strategy : shapes()) {
    for (const bool sequence : {false, true}) {
      strategy.sequence_parallel = sequence;
      const Lowered lowered(job_of(strategy));
      const Program folded = lowered.program();
      const Program unfolded = lowered.program({true, false});
      CHECK(transferred(unfolded, true) == doctest::Approx(transferred(unfolded, false)).epsilon(1e-12));
      CHECK(transferred(folded, true) == doctest::Approx(transferred(unfolded, true)).epsilon(1e-12));
      CHECK(transferred(folded, false) == doctest::Approx(transferred(folded, true)).epsilon(1e-12));
      if (!sequence) continue;
      // Every boundary is crossed by each activation, and its gradient, once: 2 bytes of s h for each sequence.
      const double once = 2.0 * 16 * 512 * 1024;
      if (std::all_of(strategy.stages.begin(), strategy.stages.end(), [](auto& of) { return of.tensor > 1; })) {
        CHECK(transferred(folded, true) == doctest::Approx(2 * once * (strategy.pipeline - 1)));
      }
    }
  }
}

TEST_CASE("stages: transfers between tensor 4 and 2, both ways") {
  Strategy strategy = shaped({{4, 2, 1}, {2, 4, 1}});
  for (const bool parts : {false, true}) {
    strategy.scatter_gather = parts ? ScatterGather::on : ScatterGather::off;
    const Job job = job_of(strategy);
    const Program program = Lowered(job).program();
    const double first = residual_bytes(job, 0);  // two sequences: a microbatch of 4 on 2 replicas
    const double last = residual_bytes(job, 1);
    CHECK(first == 2 * 2.0 * 512 * 1024);
    CHECK(last == first / 2);
    // A sender's two sequences go to one replica each, whose two ranks each have two senders.
    const TransferWork& activations = transfer_from(program, 0, true);
    CHECK(activations.senders == 2);
    CHECK(activations.receivers == 2);
    CHECK(activations.bytes == (parts ? last / 4 : last / 2));
    CHECK(activations.gathered_bytes == (parts ? last : 0));
    const TransferWork& gradients = transfer_from(program, 1, false);
    CHECK(gradients.senders == 2);
    CHECK(gradients.receivers == 2);
    CHECK(gradients.bytes == (parts ? last / 4 : last));
    CHECK(gradients.gathered_bytes == (parts ? first : 0));
  }
}

TEST_CASE("stages: what receivers need alike is gathered where that is faster") {
  Strategy strategy = shaped({kWide, kFlat});
  const auto seconds = [&](ScatterGather how, int from, int to) {
    strategy.scatter_gather = how;
    const Lowered lowered(job_of(strategy));
    return transfer_cost(lowered.job, lowered.plans, lowered.blocks, {from, to, 0}).seconds;
  };
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    const double whole = seconds(ScatterGather::off, from, to);
    const double parts = seconds(ScatterGather::on, from, to);
    CHECK(parts < whole);  // between nodes, each over its share of the ports
    CHECK(seconds(ScatterGather::framework, from, to) == parts);
  }
  // Small pieces inside one node: the collective costs more than it saves.
  strategy = shaped({{2, 1, 1}, {4, 1, 1}, {2, 1, 1}, {8, 1, 1}}, {2, 2, 2, 2});
  Job job = job_of(strategy);
  job.training.sequence_length = 16;
  const Lowered lowered(job);
  const TransferCost near = transfer_cost(lowered.job, lowered.plans, lowered.blocks, {0, 1, 0});
  CHECK_FALSE(near.on_network);
  CHECK(near.gathered_bytes == 0);
}

TEST_CASE("stages: each rank takes part in the transfers that its place asks for") {
  const Lowered lowered(job_of(shaped({kWide, kFlat})));
  const Program program = lowered.program({true, false});
  std::map<GroupId, std::set<std::uint32_t>> members;
  for (TaskId task = 0; task < program.size(); ++task) {
    if (program.class_of(task).kind == TaskKind::transfer) {
      members[program.group_of(task)].insert(program.ranks[program.rank_of(task)].rank);
    }
  }
  // Tensor ranks 0 and 1 of replica 0 of the first stage, with tensor rank 0 of replicas 0 and 1 of the second.
  CHECK(members.size() == 4);
  CHECK(members.begin()->second == std::set<std::uint32_t>{0, 1, 8, 10});
  for (const auto& [group, ranks] : members) {
    CHECK(ranks.size() == 4);
    CHECK(program.groups[group].size == 4);
  }
}

TEST_CASE("stages: collectives of replicas are those of their stage") {
  for (const int zero : {0, 1}) {
    Strategy strategy = shaped({kDeep, kFlat});
    strategy.zero = zero;
    const Program program = Lowered(job_of(strategy)).program({true, false});
    for (TaskId task = 0; task < program.size(); ++task) {
      const TaskClass& of = program.class_of(task);
      if (of.name != "reduce gradients") continue;
      CHECK(of.stage == 1);  // the first has one replica
      CHECK(program.groups[program.group_of(task)].size == 4);
    }
  }
}

TEST_CASE("stages: transfers share ports with the reduction of gradients") {
  // The second stage lies on two nodes.
  Strategy strategy = shaped({{8, 1, 1}, {2, 8, 1}}, {6, 2});
  strategy.overlap_grad_reduce = true;
  Job job = small_job(8, 3, strategy, 32);
  job.model.tied_embeddings = false;
  const Lowered lowered(job);
  const Program folded = lowered.program();
  CHECK(folded.shares_links());
  CHECK(execute(folded).makespan == execute(lowered.program({true, true})).makespan);
}
