// From a program of all ranks to what one of them does. Dependencies on tasks of other ranks stand only in front of
// tasks in which those ranks take part (a transfer's end, a collective, a meeting): there communication itself makes
// this rank wait. All others are between tasks of one rank.

#include "executor/rank_plan.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace mirfak::measure {

namespace {

constexpr std::uint32_t kNotHere = static_cast<std::uint32_t>(-1);

const BlockStep& block_step(const ShardedBlocks& blocks, const TaskWork& work) {
  const PartitionedBlock& block = blocks.of(work.block);
  auto step = static_cast<std::size_t>(work.step);
  if (!work.backward) return block.forward[step];
  if (step < block.recompute.size()) return block.recompute[step];
  return block.backward[step - block.recompute.size()];
}

void check_executable(const Job& job) {
  if (job.framework.scatter_gather_pipeline && job.strategy.tensor > 1 && job.strategy.pipeline > 1) {
    fail_infeasible(
        {}, fmt::format("executors do not run transfers as {} scatters them over tensor ranks", job.framework.name),
        "set training.framework=megatron-core");
  }
}

class GroupFinder {
 public:
  explicit GroupFinder(const Simulation& simulation) : simulation_(simulation), program_(simulation.program) {
    const std::size_t tasks = program_.size();
    out_.of_task.assign(tasks, -1);
    out_.leader.resize(tasks);
    std::iota(out_.leader.begin(), out_.leader.end(), 0U);
    out_.is_meeting.assign(tasks, 0);
    out_.partner.resize(tasks);
    std::iota(out_.partner.begin(), out_.partner.end(), 0U);
  }

  ExecutionGroups run() {
    for (TaskId first = 0; first < program_.size();) first = place(first);
    for (const auto& entry : exchanges_) add_group(entry.second);
    find_meetings();
    return std::move(out_);
  }

 private:
  const ProgramRank& rank_of(TaskId task) const { return program_.ranks[program_.streams[program_.stream[task]].rank]; }
  StreamKind stream_of(TaskId task) const { return program_.streams[program_.stream[task]].kind; }
  TaskKind kind_of(TaskId task) const { return program_.class_of(task).kind; }

  // Handles the task, or those that act with it; returns the next.
  TaskId place(TaskId first) {
    if (kind_of(first) == TaskKind::transfer) {
      out_.partner[first] = first + 1;
      out_.partner[first + 1] = first;
      out_.leader[first + 1] = first;
      return first + 2;
    }
    if (kind_of(first) != TaskKind::collective) return first + 1;
    const TaskId end = end_of_row(first);
    const TaskWork& work = program_.class_of(first).work;
    if (crosses_replicas(work)) {
      for (TaskId task = first; task < end; ++task) place_exchange(task);
      return end;
    }
    std::map<int, std::vector<TaskId>> rows;  // of those that act together
    for (TaskId task = first; task < end; ++task) rows[part_of(work, rank_of(task))].push_back(task);
    for (const auto& entry : rows) add_group(entry.second);
    return end;
  }

  // Collectives in a row that wait for the same things, one of each rank. What waits for nothing meets nobody.
  TaskId end_of_row(TaskId first) const {
    const auto after = program_.dependencies_of(first);
    const StreamKind stream = stream_of(first);
    TaskId end = first + 1;
    if (after.empty()) return end;
    while (end < program_.size() && kind_of(end) == TaskKind::collective && stream_of(end) == stream &&
           rank_of(end).rank != rank_of(first).rank && program_.stream[end] != program_.stream[first] &&
           std::equal(after.begin(), after.end(), program_.dependencies_of(end).begin(),
                      program_.dependencies_of(end).end())) {
      ++end;
    }
    return end;
  }

  bool crosses_replicas(const TaskWork& work) const {
    return work.kind == TaskWork::Kind::block_step &&
           block_step(simulation_.blocks, work).over.contains(MeshAxis::expert);
  }

  // Rows on their way to experts of other replicas, and back. The program writes the passes of replicas apart, because
  // they take the same time; what belongs together are the exchanges that as many came before on their streams.
  void place_exchange(TaskId task) {
    const ProgramRank& rank = rank_of(task);
    const auto replicas = static_cast<std::uint32_t>(simulation_.job.strategy.expert_span().data);
    const int part = part_of(program_.class_of(task).work, rank);
    const std::size_t before = exchanged_[program_.stream[task]]++;
    exchanges_[{rank.stage, rank.data / replicas, part, before}].push_back(task);
  }

  // Of a team that meets, the collectives of a block run among ranks that differ in the places that they are over.
  int part_of(const TaskWork& work, const ProgramRank& rank) const {
    if (work.kind != TaskWork::Kind::block_step) return 0;
    const MeshAxisSet over = block_step(simulation_.blocks, work).over;
    const int contexts = simulation_.job.strategy.context;
    const int context = over.contains(MeshAxis::context) ? contexts : static_cast<int>(rank.context);
    const int tensor = over.contains(MeshAxis::tensor) ? 0 : static_cast<int>(rank.tensor);
    return tensor * (contexts + 1) + context;
  }

  std::int32_t group_of(RankGroup group) {
    const auto [found, added] = known_.try_emplace(group, static_cast<std::int32_t>(out_.groups.size()));
    if (added) out_.groups.push_back(std::move(group));
    return found->second;
  }

  void add_group(const std::vector<TaskId>& members) {
    if (members.size() < 2) return;
    RankGroup group{stream_of(members.front()), {}};
    for (const TaskId task : members) group.ranks.push_back(static_cast<int>(rank_of(task).rank));
    const std::int32_t id = group_of(std::move(group));
    for (const TaskId task : members) {
      out_.of_task[task] = id;
      out_.leader[task] = members.front();
    }
  }

  void find_meetings() {
    std::map<TaskId, std::set<int>> who;
    std::set<TaskId> own;  // a task other than a collective waits for them
    std::map<TaskId, std::vector<TaskId>> collectives;
    std::vector<std::pair<TaskId, TaskId>> chained;  // a meeting, and one that waits for it
    for (TaskId task = 0; task < program_.size(); ++task) {
      const bool meeting = kind_of(task) == TaskKind::meeting;
      for (const TaskId before : program_.dependencies_of(task)) {
        if (meeting && kind_of(before) != TaskKind::meeting) who[task].insert(static_cast<int>(rank_of(before).rank));
        if (kind_of(before) != TaskKind::meeting) continue;
        if (meeting) {
          chained.emplace_back(before, task);
        } else {
          who[before].insert(static_cast<int>(rank_of(task).rank));
        }
        if (kind_of(task) == TaskKind::collective)
          collectives[before].push_back(task);
        else
          own.insert(before);
      }
    }
    // Who waits for a meeting through another takes part in it.
    std::reverse(chained.begin(), chained.end());
    for (const auto& [before, later] : chained) who[before].insert(who[later].begin(), who[later].end());
    for (const auto& entry : who) {
      const TaskId meeting = entry.first;
      const std::set<int>& ranks = entry.second;
      if (ranks.size() < 2) continue;
      const bool covered = std::all_of(collectives[meeting].begin(), collectives[meeting].end(), [&](TaskId task) {
        const std::int32_t id = out_.of_task[task];
        if (id < 0) return false;
        const std::vector<int>& members = out_.groups[static_cast<std::size_t>(id)].ranks;
        return std::set<int>(members.begin(), members.end()) == ranks;
      });
      if (covered && !own.contains(meeting)) {
        if (!collectives[meeting].empty()) out_.leader[meeting] = out_.leader[collectives[meeting].front()];
        continue;
      }
      out_.is_meeting[meeting] = 1;
      out_.of_task[meeting] = group_of({StreamKind::group, {ranks.begin(), ranks.end()}});
    }
  }

  const Simulation& simulation_;
  const Program& program_;
  ExecutionGroups out_;
  std::map<RankGroup, std::int32_t> known_;
  struct Exchange {
    std::uint32_t stage = 0;
    std::uint32_t replicas = 0;  // which of the groups of replicas that divide experts among them
    int part = 0;
    std::size_t before = 0;  // exchanges of a rank in front of it

    friend auto operator<=>(const Exchange&, const Exchange&) = default;
  };
  std::map<Exchange, std::vector<TaskId>> exchanges_;
  std::map<StreamId, std::size_t> exchanged_;
};

class RankPlanner {
 public:
  RankPlanner(const Simulation& simulation, const ExecutionGroups& groups, int rank)
      : simulation_(simulation), program_(simulation.program), groups_(groups) {
    out_.rank = rank;
    here_.assign(program_.size(), kNotHere);
  }

  RankPlan run() {
    for (TaskId task = 0; task < program_.size(); ++task) {
      if (is_mine(task)) add(task);
    }
    return std::move(out_);
  }

 private:
  const Stream& stream_of(TaskId task) const { return program_.streams[program_.stream[task]]; }
  int global_rank(TaskId task) const { return static_cast<int>(program_.ranks[stream_of(task).rank].rank); }

  bool is_mine(TaskId task) const {
    if (program_.class_of(task).kind != TaskKind::meeting) return global_rank(task) == out_.rank;
    if (groups_.is_meeting[task] == 0) return false;
    const RankGroup& group = groups_.groups[static_cast<std::size_t>(groups_.of_task[task])];
    return std::find(group.ranks.begin(), group.ranks.end(), out_.rank) != group.ranks.end();
  }

  void add(TaskId task) {
    RankTask own;
    own.task = task;
    describe(task, own);
    const bool with_others =
        own.operation != RankTask::Operation::issue && own.operation != RankTask::Operation::kernel;
    for (const TaskId before : program_.dependencies_of(task)) wait_for(before, with_others, own.after);
    own.queue = queue_of(task);
    const auto index = static_cast<std::uint32_t>(out_.tasks.size());
    out_.queues[own.queue].tasks.push_back(index);
    here_[task] = index;
    if (own.operation != RankTask::Operation::kernel) out_.most_bytes = std::max(out_.most_bytes, own.bytes);
    out_.tasks.push_back(std::move(own));
  }

  void wait_for(TaskId before, bool with_others, std::vector<std::uint32_t>& after) {
    if (here_[before] != kNotHere) {
      after.push_back(here_[before]);
    } else if (program_.class_of(before).kind == TaskKind::meeting) {
      for (const TaskId earlier : program_.dependencies_of(before)) wait_for(earlier, true, after);
    } else if (!with_others) {
      fail_internal(fmt::format("task {} waits for task {} of another rank, which nothing tells it of",
                                program_.class_of(static_cast<TaskId>(out_.tasks.size())).name, before));
    }
  }

  std::uint32_t queue_of(TaskId task) {
    const bool meeting = groups_.is_meeting[task] != 0;
    // Streams of a rank are told apart by kind, queues of meetings by group.
    const std::pair<StreamKind, std::int32_t> key{stream_of(task).kind, meeting ? groups_.of_task[task] : -1};
    const auto [found, added] = queues_.try_emplace(key, static_cast<std::uint32_t>(out_.queues.size()));
    if (added) out_.queues.push_back({stream_of(task).kind, {}});
    return found->second;
  }

  void describe(TaskId task, RankTask& own) {
    const TaskClass& described = program_.class_of(task);
    switch (described.kind) {
      case TaskKind::issue:
        own.operation = RankTask::Operation::issue;
        return;
      case TaskKind::meeting:
        own.operation = RankTask::Operation::meet;
        own.group = static_cast<std::uint32_t>(groups_.of_task[task]);
        return;
      case TaskKind::collective:
        return describe_collective(task, own);
      case TaskKind::transfer:
        describe_transfer(task, own);
        return;
      default:
        own.operation = RankTask::Operation::kernel;
        own.kernel = kernel_of(program_.task_class[task]);
    }
  }

  void describe_collective(TaskId task, RankTask& own) {
    if (groups_.of_task[task] < 0) {  // alone: nothing to do
      own.operation = RankTask::Operation::issue;
      return;
    }
    const TaskWork& work = program_.class_of(task).work;
    own.operation = RankTask::Operation::collective;
    own.group = static_cast<std::uint32_t>(groups_.of_task[task]);
    own.collective = work.collective;
    own.bytes = work.buffer_bytes;
    if (work.kind == TaskWork::Kind::block_step) {
      const BlockStep& step = block_step(simulation_.blocks, work);
      own.collective = step.collective;
      own.bytes = step.bytes;
    }
  }

  void describe_transfer(TaskId task, RankTask& own) {
    const TaskId partner = groups_.partner[task];
    own.operation = partner > task ? RankTask::Operation::send : RankTask::Operation::receive;
    own.peer = global_rank(partner);
    own.bytes = program_.class_of(task).bytes;
  }

  std::uint32_t kernel_of(ClassId of) {
    const auto [found, added] = kernels_.try_emplace(of, static_cast<std::uint32_t>(out_.kernels.size()));
    if (!added) return found->second;
    const TaskClass& described = program_.classes[of];
    const bool step = described.work.kind == TaskWork::Kind::block_step;
    out_.kernels.push_back(
        step ? kernel_work(simulation_.blocks.of(described.work.block), block_step(simulation_.blocks, described.work))
             : traffic_work(described.bytes));
    return found->second;
  }

  const Simulation& simulation_;
  const Program& program_;
  const ExecutionGroups& groups_;
  RankPlan out_;
  std::vector<std::uint32_t> here_;  // by task of the program: index into tasks
  std::map<std::pair<StreamKind, std::int32_t>, std::uint32_t> queues_;
  std::map<ClassId, std::uint32_t> kernels_;
};

}  // namespace

ExecutionGroups execution_groups(const Simulation& simulation) {
  check_executable(simulation.job);
  return GroupFinder(simulation).run();
}

RankPlan rank_plan(const Simulation& simulation, const ExecutionGroups& groups, int rank) {
  return RankPlanner(simulation, groups, rank).run();
}

}  // namespace mirfak::measure
