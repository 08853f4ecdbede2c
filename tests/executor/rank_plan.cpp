// Plans of all ranks, executed together by a loop that does what executors promise and nothing more: each queue in
// order, a task when what it waits for has ended, a collective when all have begun it.

#include "executor/rank_plan.hpp"

#include "base/error.hpp"
#include "executor/measured_timeline.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

using namespace mirfak;
using namespace mirfak::measure;

namespace {

Job job_of(const std::string& strategy, const std::string& framework = "megatron-core",
           const std::string& precision = "fp32", const std::string& node = "dgx-a100-80g") {
  const bool experts = strategy.find("expert") != std::string::npos;
  const std::string text = fmt::format(
      "model: {{source: test, family: gpt, layers: 4, hidden: 64, heads: 4, ffn: 256, vocab: 512, max_sequence: 64,\n"
      "  activation: gelu, normalization: layer_norm, position: learned, linear_bias: true, tied_embeddings: true,\n"
      "  dropout: 0.1{}}}\n"
      "cluster: {{nodes: [{{type: {}, count: 1, gpus: 4}}]}}\n"
      "training: {{global_batch: 8, sequence_length: 64, precision: {}, framework: {}}}\n"
      "strategy: {{{}}}\n",
      experts ? ", experts: {count: 4, per_token: 2, ffn: 256}" : "", node, precision, framework, strategy);
  const DataFolders folders{MIRFAK_SOURCE_DIR "/models", MIRFAK_SOURCE_DIR "/hw_profiles"};
  return parse_scenario(Document::from_text(text, "test"), folders).job;
}

// Ranks in turns; a task that is done together ends when its last member begins it.
class Together {
 public:
  Together(const Simulation& simulation, const ExecutionGroups& groups) : groups_(groups) {
    for (const ProgramRank& rank : simulation.program.ranks) {
      plans_.push_back(rank_plan(simulation.program, groups, static_cast<int>(rank.rank)));
      times_.emplace_back(plans_.back().tasks.size());
      begun_.emplace_back(plans_.back().tasks.size(), 0);
      ended_.emplace_back(plans_.back().tasks.size(), 0);
      next_.emplace_back(plans_.back().queues.size(), 0);
    }
  }

  bool run() {
    while (turn()) {
    }
    return std::all_of(ended_.begin(), ended_.end(), [](const auto& ended) {
      return std::all_of(ended.begin(), ended.end(), [](std::uint8_t done) { return done != 0; });
    });
  }

  const std::vector<RankPlan>& plans() const { return plans_; }
  const std::vector<std::vector<TaskTime>>& times() const { return times_; }

 private:
  // Who takes part in a task, by what its members know of it: the how many-th of its group or direction.
  struct Meeting {
    std::size_t members = 0;
    std::vector<std::pair<std::size_t, std::uint32_t>> begun;  // rank and task
  };

  bool turn() {
    bool any = false;
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      for (std::size_t queue = 0; queue < plans_[rank].queues.size(); ++queue) any = advance(rank, queue) || any;
    }
    return any;
  }

  bool advance(std::size_t rank, std::size_t queue) {
    const RankPlan& plan = plans_[rank];
    std::size_t& next = next_[rank][queue];
    if (next == plan.queues[queue].tasks.size()) return false;
    const std::uint32_t index = plan.queues[queue].tasks[next];
    const RankTask& task = plan.tasks[index];
    bool any = false;
    if (begun_[rank][index] == 0) {
      const bool ready =
          std::all_of(task.after.begin(), task.after.end(), [&](std::uint32_t i) { return ended_[rank][i] != 0; });
      if (!ready) return false;
      begun_[rank][index] = 1;
      times_[rank][index].ready = ++clock_;
      begin(rank, index);
      any = true;
    }
    if (ended_[rank][index] == 0) return any;
    ++next;
    return true;
  }

  void begin(std::size_t rank, std::uint32_t index) {
    const RankTask& task = plans_[rank].tasks[index];
    if (task.operation == RankTask::Operation::issue || task.operation == RankTask::Operation::kernel) {
      end(rank, index);
      return;
    }
    Meeting& meeting = meeting_of(rank, task);
    meeting.begun.emplace_back(rank, index);
    if (meeting.begun.size() < meeting.members) return;
    const RankTask& first = plans_[meeting.begun.front().first].tasks[meeting.begun.front().second];
    for (const auto& [other, place] : meeting.begun) {
      const RankTask& its = plans_[other].tasks[place];
      CHECK(groups_.leader[its.task] == groups_.leader[first.task]);  // what began together belongs together
      CHECK(its.bytes == first.bytes);
      end(other, place);
    }
  }

  Meeting& meeting_of(std::size_t rank, const RankTask& task) {
    const bool sends = task.operation == RankTask::Operation::send;
    if (sends || task.operation == RankTask::Operation::receive) {
      const auto own = static_cast<int>(rank);
      const StreamKind stream = plans_[rank].queues[task.queue].stream;
      const bool forward = stream == StreamKind::send_forward || stream == StreamKind::recv_forward;
      const int from = sends ? own : task.peer;
      const int to = sends ? task.peer : own;
      const auto count = counts_[{1, static_cast<int>(rank), from, to, forward}]++;
      Meeting& out = meetings_[{1, count, from, to, forward}];
      out.members = 2;
      return out;
    }
    const auto group = static_cast<int>(task.group);
    const auto count = counts_[{0, static_cast<int>(rank), group, 0, false}]++;
    Meeting& out = meetings_[{0, count, group, 0, false}];
    out.members = groups_.groups[task.group].ranks.size();
    return out;
  }

  void end(std::size_t rank, std::uint32_t index) {
    ended_[rank][index] = 1;
    times_[rank][index].end = ++clock_;
  }

  using Key = std::tuple<int, int, int, int, bool>;
  const ExecutionGroups& groups_;
  std::vector<RankPlan> plans_;
  std::vector<std::vector<TaskTime>> times_;
  std::vector<std::vector<std::uint8_t>> begun_;
  std::vector<std::vector<std::uint8_t>> ended_;
  std::vector<std::vector<std::size_t>> next_;
  std::map<Key, int> counts_;
  std::map<Key, Meeting> meetings_;
  double clock_ = 0;
};

struct NamedJob {
  std::string strategy;
  std::string framework;
};
const std::vector<NamedJob> kJobs = {
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
      execution_groups(lowered(job_of("tensor: 2, pipeline: 2", "megatron-lm-2021"), {true, true}).program),
      doctest::Contains("scatters"), Error);
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
      CHECK(!work.quantizes);  // a task of its own does it
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
