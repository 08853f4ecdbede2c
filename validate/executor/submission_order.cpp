#include "executor/submission_order.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace mirfak::measure {

namespace {

bool is_forward(StreamKind stream) { return stream == StreamKind::send_forward || stream == StreamKind::recv_forward; }

bool is_compute(const Program& program, TaskId task) {
  return program.streams[program.stream[task]].kind == StreamKind::compute;
}

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

}  // namespace

std::vector<SubmissionStep> submission_order(const ExecutionGroups& groups, std::span<const RankPlan> plans) {
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

TransferLane lane_of(const RankPlan& plan, const RankTask& task) {
  const bool sends = task.operation == RankTask::Operation::send;
  return {sends ? plan.rank : task.peer, sends ? task.peer : plan.rank, is_forward(plan.queues[task.queue].stream)};
}

std::vector<TransferLane> transfer_lanes(const Program& program, const ExecutionGroups& groups) {
  std::set<TransferLane> out;
  const auto rank = [&](TaskId task) {
    return static_cast<int>(program.ranks[program.streams[program.stream[task]].rank].rank);
  };
  for (TaskId task = 0; task < program.size(); ++task) {
    if (program.class_of(task).kind != TaskKind::transfer || groups.partner[task] < task) continue;
    out.insert({rank(task), rank(groups.partner[task]), is_forward(program.streams[program.stream[task]].kind)});
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

Timeline shared_timeline(const Program& program, const ExecutionGroups& groups, const Timeline& alone) {
  Timeline out = alone;
  out.makespan = 0;
  std::vector<Picoseconds> free(program.streams.size(), 0);
  Picoseconds device_free = 0;
  // Members of one operation stand near each other and begin together, so a row is placed at its last member.
  std::map<TaskId, std::vector<TaskId>> rows;
  for (TaskId task = 0; task < program.size(); ++task) rows[groups.leader[task]].push_back(task);
  std::vector<std::pair<TaskId, const std::vector<TaskId>*>> order;
  order.reserve(rows.size());
  for (const auto& [leader, members] : rows) order.emplace_back(members.back(), &members);
  std::sort(order.begin(), order.end());
  for (const auto& [last, members] : order) {
    Picoseconds start = 0;
    for (const TaskId task : *members) {
      start = std::max(start, is_compute(program, task) ? device_free : free[program.stream[task]]);
      for (const TaskId before : program.dependencies_of(task)) {
        if (groups.leader[before] != groups.leader[task]) start = std::max(start, out.end[before]);
      }
    }
    for (const TaskId task : *members) {
      out.start[task] = start;
      out.end[task] = start + (alone.end[task] - alone.start[task]);
      (is_compute(program, task) ? device_free : free[program.stream[task]]) = out.end[task];
      out.makespan = std::max(out.makespan, out.end[task]);
    }
  }
  return out;
}

}  // namespace mirfak::measure
