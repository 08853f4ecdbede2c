#include "executor/submission_order.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <variant>

namespace mirfak::measure {

namespace {

bool is_forward(StreamKind stream) { return stream == StreamKind::send_forward || stream == StreamKind::recv_forward; }

class Pieces {
 public:
  Pieces(std::size_t elements, int members) : elements_(elements), piece_(elements / members), members_(members) {}

  std::size_t begin(int member) const { return piece_ * static_cast<std::size_t>(member); }
  // The last has what is left over.
  std::size_t size(int member) const { return member + 1 == members_ ? elements_ - begin(member) : piece_; }
  std::size_t even() const { return piece_; }

 private:
  std::size_t elements_;
  std::size_t piece_;
  int members_;
};

// Members of one operation together, in the order of the program's last of them.
std::vector<SubmissionStep> steps_of(const ExecutionGroups& groups, std::span<const RankPlan> plans) {
  struct Entry {
    TaskId last = 0;
    SubmissionStep members;
  };
  std::map<TaskId, Entry> by_leader;
  for (std::uint32_t plan = 0; plan < plans.size(); ++plan) {
    const std::vector<RankTask>& tasks = plans[plan].tasks;
    for (std::uint32_t task = 0; task < tasks.size(); ++task) {
      Entry& entry = by_leader[groups.leader[tasks[task].task]];
      entry.last = std::max(entry.last, tasks[task].task);
      entry.members.push_back({plan, task});
    }
  }
  std::vector<Entry> entries;
  entries.reserve(by_leader.size());
  for (auto& [leader, entry] : by_leader) entries.push_back(std::move(entry));
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.last < b.last; });
  std::vector<SubmissionStep> out;
  out.reserve(entries.size());
  for (Entry& entry : entries) out.push_back(std::move(entry.members));
  return out;
}

// The step that a task is in, by plan and task.
std::vector<std::vector<std::uint32_t>> places_in(std::span<const SubmissionStep> steps,
                                                  std::span<const RankPlan> plans) {
  std::vector<std::vector<std::uint32_t>> out;
  for (const RankPlan& plan : plans) out.emplace_back(plan.tasks.size());
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    for (const PlannedTask& task : steps[step]) out[task.plan][task.task] = step;
  }
  return out;
}

}  // namespace

std::vector<SubmissionStep> submission_order(const ExecutionGroups& groups, std::span<const RankPlan> plans) {
  std::vector<SubmissionStep> steps = steps_of(groups, plans);
  const std::vector<std::vector<std::uint32_t>> step_of = places_in(steps, plans);
  std::vector<std::uint32_t> waiting(steps.size(), 0);
  std::vector<std::vector<std::uint32_t>> next(steps.size());
  const auto order = [&](std::uint32_t before, std::uint32_t after) {
    next[before].push_back(after);
    ++waiting[after];
  };
  for (std::size_t plan = 0; plan < plans.size(); ++plan) {
    const std::vector<std::uint32_t>& own = step_of[plan];
    for (std::size_t task = 0; task < own.size(); ++task) {
      for (const std::uint32_t before : plans[plan].tasks[task].after) order(own[before], own[task]);
    }
    for (const RankQueue& queue : plans[plan].queues) {
      for (std::size_t i = 1; i < queue.tasks.size(); ++i) order(own[queue.tasks[i - 1]], own[queue.tasks[i]]);
    }
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    if (waiting[step] == 0) ready.push(step);
  }
  std::vector<SubmissionStep> out;
  out.reserve(steps.size());
  while (!ready.empty()) {
    const std::uint32_t step = ready.top();
    ready.pop();
    for (const std::uint32_t after : next[step]) {
      if (--waiting[after] == 0) ready.push(after);
    }
    out.push_back(std::move(steps[step]));
  }
  if (out.size() != steps.size()) fail_internal("operations of several ranks wait for each other");
  return out;
}

TransferLane lane_of(const RankPlan& plan, const RankTask& task) {
  const bool sends = task.operation == RankTask::Operation::send;
  const int peer = task.peers.front();
  return {sends ? plan.rank : peer, sends ? peer : plan.rank, is_forward(plan.queues[task.queue].stream)};
}

std::vector<TransferLane> transfer_lanes(const Program& program) {
  std::set<TransferLane> out;
  for (TaskId task = 0; task < program.size(); ++task) {
    if (program.class_of(task).kind != TaskKind::transfer) continue;
    const StreamKind stream = program.streams[program.stream[task]].kind;
    if (stream != StreamKind::send_forward && stream != StreamKind::send_backward) continue;
    const std::vector<std::uint32_t>& ends = program.groups[program.group_of(task)].ranks;
    if (ends.size() != 2) {
      fail_infeasible({}, "on GPUs, transfers between pipeline stages go from one rank to one other, not among several",
                      "give the stages one shape, or run the scenario with --backend cpu");
    }
    const auto* work = std::get_if<TransferWork>(&program.class_of(task).work);
    if (work != nullptr && work->gathered_bytes > 0) {
      fail_infeasible({}, "on GPUs, tensor ranks do not gather what they were sent shares of between pipeline stages",
                      "set strategy.scatter_gather=false, or run the scenario with --backend cpu");
    }
    const std::uint32_t from = program.rank_of(task);
    const std::uint32_t to = ends[ends.front() == from ? 1 : 0];
    out.insert(
        {static_cast<int>(program.ranks[from].rank), static_cast<int>(program.ranks[to].rank), is_forward(stream)});
  }
  return {out.begin(), out.end()};
}

std::vector<LoopbackMove> loopback_moves(CollectiveKind kind, int member, int members, std::size_t elements) {
  const Pieces pieces(elements, members);
  std::vector<LoopbackMove> out;
  switch (kind) {
    case CollectiveKind::all_reduce:
      out.push_back({0, true, 0, false, pieces.begin(member), pieces.begin(member), pieces.size(member)});
      for (int i = 0; i < members; ++i) {
        if (i != member) out.push_back({1, false, i, true, pieces.begin(i), pieces.begin(i), pieces.size(i)});
      }
      return out;
    case CollectiveKind::reduce_scatter:
      out.push_back({0, true, 0, false, pieces.begin(member), 0, pieces.even()});
      return out;
    case CollectiveKind::all_gather:
      for (int i = 0; i < members; ++i) out.push_back({0, false, i, false, 0, pieces.begin(i), pieces.even()});
      return out;
    case CollectiveKind::all_to_all:
      for (int i = 0; i < members; ++i) {
        out.push_back({0, false, i, false, pieces.begin(member), pieces.begin(i), pieces.even()});
      }
      return out;
    case CollectiveKind::broadcast:
      out.push_back({0, false, 0, false, 0, 0, elements});
      return out;
    case CollectiveKind::shift:
      out.push_back({0, false, (member + members - 1) % members, false, 0, 0, elements});
      return out;
  }
  return out;
}

}  // namespace mirfak::measure
