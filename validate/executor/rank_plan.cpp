// Plans what one rank does of a program of all ranks. Dependencies on tasks of other ranks stand only in front of
// tasks in which those ranks take part (a transfer's end, a collective, a meeting): there communication itself makes
// this rank wait. All others are between tasks of one rank.

#include "executor/rank_plan.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

namespace mirfak::measure {

namespace {

constexpr std::uint32_t kNotHere = static_cast<std::uint32_t>(-1);

// Kernels that compute have to be products or attention: of others executors know the bytes alone.
void check_executable(const Program& program) {
  for (const TaskClass& described : program.classes) {
    const auto* kernel = std::get_if<KernelWork>(&described.work);
    if (kernel == nullptr || described.flop <= 0) continue;
    if (kernel->kind == KernelWork::Kind::product || kernel->kind == KernelWork::Kind::attention) continue;
    fail_infeasible({}, fmt::format("executors have no kernel that computes what {} does", described.name),
                    "run a model of products, attention and kernels that memory bounds");
  }
}

class GroupFinder {
 public:
  explicit GroupFinder(const Program& program) : program_(program) {
    out_.of_task.assign(program.size(), -1);
    out_.leader = acting_together(program);
    out_.is_meeting.assign(program.size(), 0);
    out_.gather_of.assign(program.size(), -1);
  }

  ExecutionGroups run() {
    for (TaskId task = 0; task < program_.size(); ++task) {
      const TaskKind kind = program_.class_of(task).kind;
      const bool among_several =
          kind == TaskKind::transfer && program_.groups[program_.group_of(task)].ranks.size() > 2;
      if ((kind == TaskKind::collective && acts_with_others(task)) || among_several) {
        out_.of_task[task] = communicator_of(task);
      }
      if (kind == TaskKind::transfer && gathers(task)) out_.gather_of[task] = gather_communicator_of(task);
    }
    find_meetings();
    return std::move(out_);
  }

 private:
  bool acts_with_others(TaskId task) const {
    const GroupId group = program_.group_of(task);
    return group != kNoGroup && program_.groups[group].ranks.size() > 1;
  }

  bool gathers(TaskId task) const {
    const StreamKind stream = program_.streams[program_.stream[task]].kind;
    const bool receives = stream == StreamKind::recv_forward || stream == StreamKind::recv_backward;
    const auto* work = std::get_if<TransferWork>(&program_.class_of(task).work);
    return receives && work != nullptr && work->gathered_bytes > 0;
  }

  // The tensor ranks of the receiver's team, which receive in the same order.
  std::int32_t gather_communicator_of(TaskId task) {
    const ProgramRank& own = program_.ranks[program_.rank_of(task)];
    const StreamKind stream = program_.streams[program_.stream[task]].kind;
    const auto [found, added] = gathering_.try_emplace({own.stage, own.data, own.context, stream},
                                                       static_cast<std::int32_t>(out_.groups.size()));
    if (added) {
      RankGroup group{stream, {}};
      for (const ProgramRank& rank : program_.ranks) {
        const bool same = rank.stage == own.stage && rank.data == own.data && rank.context == own.context;
        if (same) group.ranks.push_back(static_cast<int>(rank.rank));
      }
      out_.groups.push_back(std::move(group));
    }
    return found->second;
  }

  // Both ends of a transfer communicate on the stream of the sending one.
  static StreamKind sending_stream(StreamKind kind) {
    if (kind == StreamKind::recv_forward) return StreamKind::send_forward;
    return kind == StreamKind::recv_backward ? StreamKind::send_backward : kind;
  }

  // Groups communicate on each kind of stream by themselves.
  std::int32_t communicator_of(TaskId task) {
    const GroupId id = program_.group_of(task);
    const StreamKind stream = sending_stream(program_.streams[program_.stream[task]].kind);
    const auto [found, added] = known_.try_emplace({id, stream}, static_cast<std::int32_t>(out_.groups.size()));
    if (added) {
      RankGroup group{stream, {}};
      for (const std::uint32_t rank : program_.groups[id].ranks) {
        group.ranks.push_back(static_cast<int>(program_.ranks[rank].rank));
      }
      out_.groups.push_back(std::move(group));
    }
    return found->second;
  }

  // The task that follows a meeting says whether the meeting is an operation of its own.
  void find_meetings() {
    std::vector<TaskId> collective(program_.size(), kNoTask);  // by meeting: the first of its group behind it
    for (TaskId task = 0; task < program_.size(); ++task) {
      for (const TaskId before : program_.dependencies_of(task)) {
        if (program_.class_of(before).kind != TaskKind::meeting || !acts_with_others(before)) continue;
        const bool covered = program_.class_of(task).kind == TaskKind::collective &&
                             program_.group_of(task) == program_.group_of(before);
        if (!covered) out_.is_meeting[before] = 1;
        if (covered && collective[before] == kNoTask) collective[before] = task;
      }
    }
    for (TaskId task = 0; task < program_.size(); ++task) {
      if (out_.is_meeting[task] != 0) out_.of_task[task] = communicator_of(task);
      if (out_.is_meeting[task] == 0 && collective[task] != kNoTask) out_.leader[task] = out_.leader[collective[task]];
    }
  }

  const Program& program_;
  ExecutionGroups out_;
  std::map<std::pair<GroupId, StreamKind>, std::int32_t> known_;
  // Communicators of gathers by stage, replica, context rank and kind of stream.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, StreamKind>, std::int32_t> gathering_;
};

class RankPlanner {
 public:
  RankPlanner(const Program& program, const ExecutionGroups& groups, int rank) : program_(program), groups_(groups) {
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
  int global_rank(TaskId task) const { return static_cast<int>(program_.ranks[program_.rank_of(task)].rank); }

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
    for (const TaskId before : program_.dependencies_of(task)) wait_for(task, before, with_others, own.after);
    own.queue = queue_of(task);
    const auto index = static_cast<std::uint32_t>(out_.tasks.size());
    out_.queues[own.queue].tasks.push_back(index);
    here_[task] = index;
    if (own.operation != RankTask::Operation::kernel) {
      out_.max_bytes = std::max({out_.max_bytes, own.bytes, own.gathered_bytes});
    }
    out_.tasks.push_back(std::move(own));
  }

  void wait_for(TaskId task, TaskId before, bool with_others, std::vector<std::uint32_t>& after) {
    if (here_[before] != kNotHere) {
      after.push_back(here_[before]);
    } else if (program_.class_of(before).kind == TaskKind::meeting) {
      for (const TaskId earlier : program_.dependencies_of(before)) wait_for(task, earlier, true, after);
    } else if (!with_others) {
      fail_internal(fmt::format("task {} ({}) of rank {} waits for task {} ({}) of rank {}, which nothing tells it of",
                                task, program_.class_of(task).name, out_.rank, before, program_.class_of(before).name,
                                global_rank(before)));
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
        own.kernel = kernel_of(task);
    }
  }

  void describe_collective(TaskId task, RankTask& own) {
    if (groups_.of_task[task] < 0) {  // alone: nothing to do
      own.operation = RankTask::Operation::issue;
      return;
    }
    const auto& work = work_of<CollectiveWork>(task);
    own.operation = RankTask::Operation::collective;
    own.group = static_cast<std::uint32_t>(groups_.of_task[task]);
    own.collective = work.kind;
    own.bytes = work.bytes;
  }

  void describe_transfer(TaskId task, RankTask& own) {
    const StreamKind stream = stream_of(task).kind;
    const bool sends = stream == StreamKind::send_forward || stream == StreamKind::send_backward;
    own.operation = sends ? RankTask::Operation::send : RankTask::Operation::receive;
    for (const std::uint32_t end : program_.groups[program_.group_of(task)].ranks) {
      const ProgramRank& other = program_.ranks[end];
      if (other.stage != program_.ranks[program_.rank_of(task)].stage)
        own.peers.push_back(static_cast<int>(other.rank));
    }
    own.bytes = work_of<TransferWork>(task).bytes;
    if (const std::int32_t gather = groups_.gather_of[task]; gather >= 0) {
      own.gathered_bytes = work_of<TransferWork>(task).gathered_bytes;
      own.gather_group = static_cast<std::uint32_t>(gather);
    }
    own.meets = groups_.of_task[task] >= 0;
    if (own.meets) own.group = static_cast<std::uint32_t>(groups_.of_task[task]);
  }

  std::uint32_t kernel_of(TaskId task) {
    const auto [found, added] =
        kernels_.try_emplace(program_.task_class[task], static_cast<std::uint32_t>(out_.kernels.size()));
    if (added) out_.kernels.push_back(work_of<KernelWork>(task));
    return found->second;
  }

  template <class Work>
  const Work& work_of(TaskId task) const {
    const TaskClass& described = program_.class_of(task);
    if (const auto* work = std::get_if<Work>(&described.work)) return *work;
    fail_internal(fmt::format("task {}, {}, does not say its work: lower with detail operators", task, described.name));
  }

  const Program& program_;
  const ExecutionGroups& groups_;
  RankPlan out_;
  std::vector<std::uint32_t> here_;  // by task of the program: index into tasks
  std::map<std::pair<StreamKind, std::int32_t>, std::uint32_t> queues_;
  std::map<ClassId, std::uint32_t> kernels_;
};

}  // namespace

ExecutionGroups execution_groups(const Program& program) {
  check_executable(program);
  return GroupFinder(program).run();
}

RankPlan rank_plan(const Program& program, const ExecutionGroups& groups, int rank) {
  return RankPlanner(program, groups, rank).run();
}

KernelPrecision precision_of(const Program& program) {
  std::optional<Precision> wide;
  std::optional<Precision> narrow;
  std::optional<Precision> sent;
  for (const TaskClass& described : program.classes) {
    if (const auto* collective = std::get_if<CollectiveWork>(&described.work)) sent = collective->precision;
    const auto* kernel = std::get_if<KernelWork>(&described.work);
    if (kernel != nullptr && kernel->kind == KernelWork::Kind::product) {
      (kernel->narrow ? narrow : wide) = kernel->precision;
    }
  }
  const Precision own = wide ? *wide : sent.value_or(Precision::fp32);
  return {own, narrow.value_or(own)};
}

}  // namespace mirfak::measure
