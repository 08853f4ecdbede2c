// Plans of all ranks, executed together.

#include "executor/rank_plan.hpp"

#include "base/error.hpp"
#include "executor/measured_timeline.hpp"
#include "executor/submission_order.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"
#include "together.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rank_plan_test {

using namespace mirfak;
using namespace mirfak::measure;
using namespace mirfak::test;

namespace {

Job job_of(const std::string& strategy, const std::string& framework = "megatron-core",
           const std::string& precision = "fp32", const std::string& node = "dgx-a100-80g") {
  const bool experts = strategy.find("expert") != std::string::npos;
  const std::string text = fmt::format(
      "model: {{source: test, family: gpt, layers: 4, hidden: 64, heads: 4, ffn: 256, vocab: 512, max_sequence: 64,\n"
      "  activation: gelu, normalization: layer_norm, position: learned, linear_bias: true, tied_embeddings: {},\n"
      "  dropout: 0.1{}}}\n"
      "cluster: {{nodes: [{{type: {}, count: 1, gpus: 4}}]}}\n"
      "training: {{global_batch: 8, sequence_length: 64, precision: {}, framework: {}}}\n"
      "strategy: {{{}}}\n",
      strategy.find("stages") == std::string::npos, experts ? ", experts: {count: 4, per_token: 2, ffn: 256}" : "",
      node, precision, framework, strategy);
  const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
  return parse_scenario(Document::from_text(text, "test"), folders).job;
}

struct NamedJob {
  std::string strategy;
  std::string framework;
};
const std::vector<NamedJob> kJobs = {
    {"stages: [{gpus: 2, tensor: 2}, {gpus: 2, tensor: 1}], scatter_gather: false", "megatron-core"},
    {"stages: [{gpus: 1}, {gpus: 2, tensor: 2}, {gpus: 1}], layer_split: [1, 2, 1], sequence_parallel: true, zero: 1",
     "megatron-core"},
    {"stages: [{gpus: 2, tensor: 2}, {gpus: 2, tensor: 1}], scatter_gather: true", "megatron-core"},
    {"stages: [{gpus: 1}, {gpus: 2, tensor: 2}, {gpus: 1}], layer_split: [1, 2, 1], scatter_gather: true",
     "megatron-core"},
    {"tensor: 2, pipeline: 2", "megatron-lm-2021"},
    {"tensor: 2, pipeline: 2, virtual_pipeline: 2, scatter_gather: true", "megatron-core"},
    {"tensor: 4", "megatron-core"},
    {"tensor: 2, sequence_parallel: true", "megatron-core"},
    {"tensor: 2, pipeline: 2", "megatron-core"},
    {"pipeline: 2, virtual_pipeline: 2, data: 2", "megatron-core"},
    {"pipeline: 4, schedule: gpipe", "megatron-core"},
    {"data: 4, zero: 1", "megatron-core"},
    {"data: 2, zero: 1, pipeline: 2, overlap_grad_reduce: true, overlap_param_gather: true", "megatron-core"},
    {"context: 2, tensor: 2, zero: 1", "megatron-core"},
    {"data: 4, expert: 2", "megatron-core"},
    {"data: 2, pipeline: 2, expert: 2, zero: 1", "megatron-core"},
    {"tensor: 2, data: 2, expert: 4, expert_tensor: 1, sequence_parallel: true", "megatron-core"},
    {"tensor: 2, data: 2, expert: 2, sequence_parallel: true, expert_dispatcher: deepep", "megatron-core"},
    {"data: 4, zero: 3", "pytorch-fsdp"},
    {"data: 4, zero: 2", "megatron-deepspeed"}};

}  // namespace

TEST_CASE("every task is some rank's, and all of them end") {
  for (const NamedJob& job : kJobs) {
    CAPTURE(job.strategy);
    const auto simulation = lowered(job_of(job.strategy, job.framework), {true, true});
    const Program& program = simulation.program;
    const ExecutionGroups groups = execution_groups(simulation.program);
    Together together(simulation, groups);
    CHECK(together.run());

    std::vector<std::size_t> owners(program.size(), 0);
    for (const RankPlan& plan : together.plans()) {
      for (const RankTask& task : plan.tasks) ++owners[task.task];
    }
    for (TaskId task = 0; task < program.size(); ++task) {
      const bool meeting = program.class_of(task).kind == TaskKind::meeting;
      const bool own = groups.is_meeting[task] != 0;
      const std::size_t members =
          own ? groups.groups[static_cast<std::size_t>(groups.of_task[task])].ranks.size() : (meeting ? 0 : 1);
      CHECK(owners[task] == members);
    }
  }
}

TEST_CASE("the measured timeline keeps the order of the program") {
  for (const NamedJob& job : kJobs) {
    CAPTURE(job.strategy);
    const auto simulation = lowered(job_of(job.strategy, job.framework), {true, true});
    const Program& program = simulation.program;
    const ExecutionGroups groups = execution_groups(simulation.program);
    Together together(simulation, groups);
    REQUIRE(together.run());
    const Timeline timeline = measured_timeline(program, groups, together.times());

    REQUIRE(timeline.start.size() == program.size());
    std::vector<Picoseconds> free(program.streams.size(), 0);
    Picoseconds last = 0;
    for (TaskId task = 0; task < program.size(); ++task) {
      REQUIRE(timeline.start[task] <= timeline.end[task]);
      for (const TaskId before : program.dependencies_of(task)) CHECK(timeline.end[before] <= timeline.start[task]);
      CHECK(free[program.stream[task]] <= timeline.start[task]);
      free[program.stream[task]] = timeline.end[task];
      last = std::max(last, timeline.end[task]);
    }
    CHECK(timeline.makespan == last);
  }
}

TEST_CASE("collectives carry the bytes of their price") {
  // Ring traffic of one rank: 2 (n - 1)/n of an all-reduce's buffer, (n - 1)/n of a gather's or scatter's.
  const auto simulation = lowered(job_of("data: 4, zero: 1"), {true, true});
  const ExecutionGroups groups = execution_groups(simulation.program);
  const RankPlan plan = rank_plan(simulation.program, groups, 1);
  int collectives = 0;
  for (const RankTask& task : plan.tasks) {
    if (task.operation != RankTask::Operation::collective) continue;
    const double factor = task.collective == CollectiveKind::all_reduce ? 2 : 1;
    CHECK(simulation.program.class_of(task.task).bytes == doctest::Approx(task.bytes * factor * 3 / 4));
    ++collectives;
  }
  CHECK(collectives >= 2);
}

TEST_CASE("receivers of shares gather them among the tensor ranks of their replica, once for each transfer") {
  const auto simulation = lowered(job_of("tensor: 2, pipeline: 2", "megatron-lm-2021"), {true, true});
  const ExecutionGroups groups = execution_groups(simulation.program);
  for (int rank = 0; rank < 4; ++rank) {
    int gathers = 0;
    for (const RankTask& task : rank_plan(simulation.program, groups, rank).tasks) {
      CHECK((task.gathered_bytes > 0) == (task.operation == RankTask::Operation::receive));
      if (task.gathered_bytes == 0) continue;
      CHECK(task.gathered_bytes == 2 * task.bytes);
      const int first = rank / 2 * 2;
      CHECK(groups.groups[task.gather_group].ranks == std::vector<int>{first, first + 1});
      ++gathers;
    }
    CHECK(gathers == 8);  // microbatches: activations to the second stage, gradients back
  }
}

TEST_CASE("what waits for another rank and meets nobody is refused by its name") {
  Program program;
  for (std::uint32_t rank = 0; rank < 2; ++rank) program.ranks.push_back({.rank = rank});
  const std::array streams = {program.add_stream(0, StreamKind::compute), program.add_stream(1, StreamKind::compute)};
  const auto add = [&](std::size_t rank, const char* name, std::vector<TaskId> after) {
    TaskClass kernel;
    kernel.kind = TaskKind::kernel;
    kernel.name = name;
    kernel.work = traffic_work(1e6);
    return program.add_task(streams[rank], program.add_class(kernel), 1, after);
  };
  const TaskId first = add(0, "first", {});
  add(1, "second", {});
  add(1, "third", {first});
  const ExecutionGroups groups = execution_groups(program);
  CHECK(rank_plan(program, groups, 0).tasks.size() == 1);
  CHECK_THROWS_WITH_AS(rank_plan(program, groups, 1),
                       doctest::Contains("task 2 (third) of rank 1 waits for task 0 (first) of rank 0"), Error);
}

TEST_CASE("what executors do not run is refused") {
  Program program;
  program.ranks.push_back({});
  TaskClass scan;
  scan.kind = TaskKind::kernel;
  scan.name = "state_scan";
  scan.work = traffic_work(1e6);
  program.add_task(program.add_stream(0, StreamKind::compute), program.add_class(scan), 1, {});
  CHECK(execution_groups(program).groups.empty());
  program.classes.front().flop = 1e9;
  CHECK_THROWS_WITH_AS(execution_groups(program), doctest::Contains("what state_scan does"), Error);
  CHECK_THROWS_WITH_AS(
      transfer_lanes(lowered(job_of("tensor: 2, pipeline: 2", "megatron-lm-2021"), {true, true}).program),
      doctest::Contains("on GPUs, tensor ranks do not gather"), Error);
  const char* shaped = "stages: [{gpus: 2, tensor: 2}, {gpus: 2}], sequence_parallel: true";
  CHECK_THROWS_WITH_AS(transfer_lanes(lowered(job_of(shaped), {true, true}).program),
                       doctest::Contains("on GPUs, transfers between pipeline stages go from one rank to one other"),
                       Error);
}

TEST_CASE("linear layers of an fp8 job multiply in 8 bits what casts have made, all else as before") {
  const auto simulation = lowered(job_of("data: 4", "megatron-core", "fp8-current", "hgx-h100"), {true, true});
  const RankPlan plan = rank_plan(simulation.program, execution_groups(simulation.program), 0);
  int narrow = 0;
  int gradients = 0;
  int wide = 0;
  int casts = 0;
  for (const KernelWork& work : plan.kernels) {
    if (work.kind == KernelWork::Kind::product) {
      narrow += work.narrow ? 1 : 0;
      gradients += work.narrow && work.gradient ? 1 : 0;
      wide += work.narrow ? 0 : 1;
      const double twice = work.product.m * work.product.k * 2;
      if (work.narrow) CHECK(work.reads.front() == doctest::Approx(twice / 2));
    } else if (work.kind == KernelWork::Kind::stream && work.reads.size() == 2 && work.reads[1] == 0) {
      ++casts;  // reads a tensor, and its largest value
    }
  }
  CHECK(narrow > 0);
  CHECK(gradients == 2 * (narrow - gradients));
  CHECK(wide > 0);  // logits
  CHECK(casts > 0);
}

}  // namespace rank_plan_test
