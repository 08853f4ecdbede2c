// The groups of a program: who meets whom, and that a rank that is late holds up the members of its group and nobody
// else. A task of the rank, the last that its collective waits for, is made ten seconds longer than all the rest; then
// every member's part of that collective begins when that task ends, and the other groups' part of it as before.

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "program/lowering.hpp"
#include "schedule/schedule_file.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>

namespace groups_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr Picoseconds kTenSeconds = 10'000'000'000'000;

Strategy strategy_of(int tensor, int context, int data, int pipeline) {
  Strategy s;
  s.tensor = tensor;
  s.context = context;
  s.data = data;
  s.pipeline = pipeline;
  return s;
}

Job job_of(const Strategy& strategy, const char* framework) {
  const auto nodes = static_cast<int>((strategy.ranks() + 7) / 8);
  Job job = small_job(4, nodes, strategy, 16);
  job.training.framework = framework;
  job.framework = test::framework_named(framework);
  job.model.tied_embeddings = strategy.pipeline > 1;
  return job;
}

// 1F1B of 4 stages and 8 microbatches, the model's first part on stage 1 and its last on stage 2.
ScheduleId other_way_round() {
  const std::string csv = schedule_csv(schedule_of(schedule_named("1f1b")), {.stages = 4, .microbatches = 8});
  std::vector<std::string> rows;
  std::istringstream lines(csv);
  for (std::string row; std::getline(lines, row);) rows.push_back(row);
  std::string out;
  for (const std::size_t part : {2, 0, 3, 1}) out += rows.at(part) + "\n";
  return read_schedule_text(out, "other-way-round.csv");
}

Job mixture_of(const Strategy& strategy) {
  Job job = job_of(strategy, "megatron-core");
  job.model.mixture.experts = 8;
  job.model.mixture.per_token = 2;
  job.model.mixture.ffn = 1024;
  return job;
}

Program program_of(const Job& job, const LoweringOptions& options) {
  const ShardedBlocks blocks = shard_blocks(job);
  Program program = lower(job, blocks, plan_stages(job, blocks), options);
  program.validate();
  return program;
}

struct Case {
  GroupKind kind{};
  Job job;
  std::uint32_t rank = 0;               // the late one
  std::vector<std::uint32_t> expected;  // ranks of its group
};

// Ranks are numbered tensor fastest, then context, data and pipeline.
std::vector<Case> cases() {
  std::vector<Case> out;
  out.push_back({GroupKind::tensor, job_of(strategy_of(2, 1, 2, 1), "megatron-core"), 3, {2, 3}});
  out.push_back({GroupKind::tensor, job_of(strategy_of(2, 2, 2, 1), "megatron-core"), 5, {4, 5}});
  out.push_back({GroupKind::context, job_of(strategy_of(2, 2, 2, 1), "megatron-core"), 5, {5, 7}});
  Strategy experts = strategy_of(1, 1, 4, 1);
  experts.expert = 2;
  out.push_back({GroupKind::expert, mixture_of(experts), 3, {2, 3}});
  out.push_back({GroupKind::data, mixture_of(experts), 3, {0, 1, 2, 3}});
  out.push_back({GroupKind::expert_data, mixture_of(experts), 3, {1, 3}});
  out.push_back({GroupKind::data, job_of(strategy_of(2, 1, 2, 1), "megatron-core"), 0, {0, 2}});
  out.push_back({GroupKind::data, job_of(strategy_of(1, 2, 2, 1), "megatron-core"), 0, {0, 1, 2, 3}});
  Strategy sharded = strategy_of(1, 1, 4, 1);
  sharded.zero = 1;
  out.push_back({GroupKind::shard, job_of(sharded, "megatron-core"), 2, {0, 1, 2, 3}});
  sharded.zero = 3;
  sharded.zero_group = 2;
  out.push_back({GroupKind::shard, job_of(sharded, "pytorch-fsdp"), 2, {2, 3}});
  out.push_back({GroupKind::across, job_of(sharded, "pytorch-fsdp"), 2, {0, 2}});
  Strategy exchanged = strategy_of(1, 1, 16, 1);  // on two nodes of 8
  exchanged.zero = 3;
  exchanged.zero_second_group = 4;
  exchanged.quantized_reductions = true;
  out.push_back({GroupKind::second_copy, job_of(exchanged, "deepspeed"), 5, {4, 5, 6, 7}});
  out.push_back({GroupKind::node, job_of(exchanged, "deepspeed"), 9, {8, 9, 10, 11, 12, 13, 14, 15}});
  out.push_back({GroupKind::between_nodes, job_of(exchanged, "deepspeed"), 9, {1, 9}});
  Strategy divided = strategy_of(1, 1, 8, 1);
  divided.expert = 2;
  divided.zero = 1;
  divided.weight_shards = 4;
  divided.expert_weight_shards = 2;
  out.push_back({GroupKind::weight_copies, mixture_of(divided), 5, {1, 5}});
  out.push_back({GroupKind::expert_weights, mixture_of(divided), 5, {5, 7}});
  out.push_back({GroupKind::expert_weight_copies, mixture_of(divided), 5, {1, 5}});
  divided.overlap_param_gather = true;  // else nothing precedes the first gather
  out.push_back({GroupKind::weights, mixture_of(divided), 5, {4, 5, 6, 7}});
  const Job pipeline = job_of(strategy_of(1, 1, 2, 4), "megatron-core");
  out.push_back({GroupKind::transfer, pipeline, 0, {0, 2}});  // from stage 0 to 1
  out.push_back({GroupKind::tied_embedding, pipeline, 7, {1, 7}});
  Strategy both_ways = strategy_of(1, 1, 2, 4);
  both_ways.schedule = schedule_named("dualpipe");
  both_ways.virtual_pipeline = 2;
  out.push_back({GroupKind::part, job_of(both_ways, "megatron-core"), 7, {1, 7}});
  Strategy from_file = strategy_of(1, 1, 2, 4);
  from_file.schedule = other_way_round();
  out.push_back({GroupKind::tied_embedding, job_of(from_file, "megatron-core"), 5, {3, 5}});
  out.push_back({GroupKind::all, pipeline, 5, {0, 1, 2, 3, 4, 5, 6, 7}});
  return out;
}

bool is_part(const Program& program, TaskId task, GroupKind kind) {
  const GroupId group = program.group_of(task);
  if (group == kNoGroup || program.groups[group].kind != kind) return false;
  return program.class_of(task).kind != TaskKind::meeting || kind == GroupKind::all;
}

// The first such task of a rank; of `all`, the one meeting.
TaskId first_part(const Program& program, GroupKind kind, std::uint32_t rank) {
  for (TaskId task = 0; task < program.size(); ++task) {
    if (is_part(program, task, kind) && (kind == GroupKind::all || program.rank_of(task) == rank)) return task;
  }
  return kNoTask;
}

// The last task of a rank that a task waits for, through the meeting in front of it too.
TaskId last_before(const Program& program, const Timeline& timeline, TaskId task, std::uint32_t rank) {
  TaskId last = kNoTask;
  const auto look = [&](TaskId before) {
    if (program.rank_of(before) != rank || program.class_of(before).kind == TaskKind::meeting) return;
    if (last == kNoTask || timeline.end[before] > timeline.end[last]) last = before;
  };
  for (const TaskId before : program.dependencies_of(task)) {
    look(before);
    if (program.class_of(before).kind != TaskKind::meeting) continue;
    for (const TaskId earlier : program.dependencies_of(before)) look(earlier);
  }
  return last;
}

// All tasks that begin together with one, by rank.
std::map<std::uint32_t, TaskId> parts_of(const Program& program, TaskId part) {
  const std::vector<TaskId> first = acting_together(program);
  std::map<std::uint32_t, TaskId> out;
  for (TaskId task = 0; task < program.size(); ++task) {
    if (first[task] == first[part]) out[program.rank_of(task)] = task;
  }
  return out;
}

}  // namespace

TEST_CASE("a late rank holds up its group, of every kind, and nobody else") {
  std::set<GroupKind> seen;
  for (const Case& c : cases()) {
    seen.insert(c.kind);
    INFO(std::string(name_of(c.kind)) << " group of rank " << c.rank);
    Program program = program_of(c.job, {.unfolded = true, .operators = true});
    const TaskId part = first_part(program, c.kind, c.rank);
    REQUIRE(part != kNoTask);
    CHECK(program.groups[program.group_of(part)].ranks == c.expected);
    CHECK(program.groups[program.group_of(part)].size == c.expected.size());

    const Timeline before = execute(program);
    const TaskId late = last_before(program, before, part, c.rank);
    REQUIRE(late != kNoTask);
    program.duration[late] += kTenSeconds;
    const Timeline after = execute(program);
    if (c.kind == GroupKind::all) {
      CHECK(after.end[part] == after.end[late]);
      for (TaskId task = 0; task < program.size(); ++task) {
        if (program.class_of(task).kind == TaskKind::optimizer) CHECK(after.start[task] >= after.end[late]);
      }
      continue;
    }
    const auto parts = parts_of(program, part);
    std::vector<std::uint32_t> ranks;
    for (const auto& [rank, task] : parts) {
      ranks.push_back(rank);
      CHECK(after.start[task] == after.end[late]);
    }
    CHECK(ranks == c.expected);
    for (std::uint32_t other = 0; other < program.ranks.size(); ++other) {
      const TaskId first = first_part(program, c.kind, other);
      if (parts.contains(other) || first == kNoTask || c.kind == GroupKind::transfer) continue;
      CHECK(after.start[first] == before.start[first]);
    }
  }
  CHECK(seen.size() + 1 == kGroupKinds);  // a team meets only as a whole
}

TEST_CASE("passes as one task: replicas that exchange experts' rows begin them together, others do not") {
  // Ranks 0 and 1 divide the experts, and 2 and 3. Rank 1 is late with its first pass.
  Strategy experts = strategy_of(1, 1, 4, 1);
  experts.expert = 2;
  Program program = program_of(mixture_of(experts), {.unfolded = true});
  const Timeline before = execute(program);
  std::vector<std::vector<TaskId>> passes(4);
  for (TaskId task = 0; task < program.size(); ++task) {
    if (program.streams[program.stream[task]].kind == StreamKind::compute) {
      passes[program.rank_of(task)].push_back(task);
    }
  }
  program.duration[passes[1][0]] += kTenSeconds;
  const Timeline after = execute(program);
  CHECK(after.start[passes[0][1]] == after.end[passes[1][0]]);
  CHECK(after.start[passes[2][1]] == before.start[passes[2][1]]);
  CHECK(after.start[passes[3][1]] == before.start[passes[3][1]]);
}

TEST_CASE("every task says its work, and what a rank does with others says with whom") {
  for (const Case& c : cases()) {
    const Program unfolded = program_of(c.job, {.unfolded = true, .operators = true});
    const Program folded = program_of(c.job, {.operators = true});
    for (const Program* program : {&unfolded, &folded}) {
      std::set<ClassId> used(program->task_class.begin(), program->task_class.end());
      for (const ClassId id : used) {
        const TaskClass& described = program->classes[id];
        INFO(described.name);
        const bool together = described.kind == TaskKind::collective || described.kind == TaskKind::transfer;
        CHECK((described.grouping != kAlone) == (together || described.kind == TaskKind::meeting));
        CHECK(std::holds_alternative<CollectiveWork>(described.work) == (described.kind == TaskKind::collective));
        CHECK(std::holds_alternative<TransferWork>(described.work) == (described.kind == TaskKind::transfer));
        const auto* kernel = std::get_if<KernelWork>(&described.work);
        CHECK((kernel != nullptr) == (described.kind == TaskKind::kernel || described.kind == TaskKind::optimizer));
        if (kernel == nullptr || kernel->kind != KernelWork::Kind::product) continue;
        CHECK(kernel->product.flop() == doctest::Approx(described.flop).epsilon(1e-12));
        CHECK(kernel->precision == c.job.precision());
      }
    }
    // A folded group stands for as many ranks as there are.
    for (const Group& group : folded.groups) {
      const auto same = std::find_if(unfolded.groups.begin(), unfolded.groups.end(),
                                     [&](const Group& other) { return other.kind == group.kind; });
      REQUIRE(same != unfolded.groups.end());
      CHECK(group.size == same->ranks.size());
    }
  }
}

TEST_CASE("groups are those that a job names") {
  Strategy s = strategy_of(2, 2, 4, 2);
  s.expert = 4;
  s.zero = 1;
  s.zero_group = 4;
  Job job = mixture_of(s);
  const Program program = program_of(job, {.unfolded = true, .operators = true});
  const auto group_of = [&](GroupKind kind, std::uint32_t rank) {
    std::vector<int> out;
    for (const Grouping& grouping : program.groupings) {
      if (grouping.kind != kind || grouping.of_rank[rank] == kNoGroup) continue;
      for (const std::uint32_t member : program.groups[grouping.of_rank[rank]].ranks) {
        out.push_back(static_cast<int>(program.ranks[member].rank));
      }
      return out;
    }
    return out;
  };
  for (const int stage : {0, 1}) {
    const auto first = static_cast<std::uint32_t>(job.rank_of(stage, 0, 0));
    CHECK(group_of(GroupKind::tensor, first) == job.tensor_group(stage));
    CHECK(group_of(GroupKind::context, first) == job.context_group(stage));
    CHECK(group_of(GroupKind::expert, first) == job.group_over(stage, expert_axes(job.strategy)));
    CHECK(group_of(GroupKind::shard, first) == job.shard_group(stage));
    CHECK(group_of(GroupKind::across, first) == job.across_group(stage));
    CHECK(group_of(GroupKind::expert_data, first) == job.expert_data_group(stage));
  }
}

}  // namespace groups_test
