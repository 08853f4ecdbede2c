#include "together.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace mirfak::test {

using namespace measure;

Together::Together(const Simulation& simulation, const ExecutionGroups& groups) : groups_(groups) {
  for (const ProgramRank& rank : simulation.program.ranks) {
    plans_.push_back(rank_plan(simulation.program, groups, static_cast<int>(rank.rank)));
    times_.emplace_back(plans_.back().tasks.size());
    begun_.emplace_back(plans_.back().tasks.size(), 0);
    ended_.emplace_back(plans_.back().tasks.size(), 0);
    next_.emplace_back(plans_.back().queues.size(), 0);
  }
}

bool Together::run() {
  while (turn()) {
  }
  return std::all_of(ended_.begin(), ended_.end(), [](const auto& ended) {
    return std::all_of(ended.begin(), ended.end(), [](std::uint8_t done) { return done != 0; });
  });
}

bool Together::turn() {
  bool any = false;
  for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
    for (std::size_t queue = 0; queue < plans_[rank].queues.size(); ++queue) any = advance(rank, queue) || any;
  }
  return any;
}

bool Together::advance(std::size_t rank, std::size_t queue) {
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

void Together::begin(std::size_t rank, std::uint32_t index) {
  const RankTask& task = plans_[rank].tasks[index];
  if (task.operation == RankTask::Operation::issue || task.operation == RankTask::Operation::kernel) {
    end(rank, index);
    return;
  }
  const bool transfers = task.operation == RankTask::Operation::send || task.operation == RankTask::Operation::receive;
  if (transfers) {
    left_[{rank, index}] = task.peers.size();
    for (const int peer : task.peers) join(rank, index, message_of(rank, task, peer));
  } else {
    join(rank, index, meeting_of(rank, task));
  }
}

void Together::join(std::size_t rank, std::uint32_t index, Meeting& meeting) {
  meeting.begun.emplace_back(rank, index);
  if (meeting.begun.size() < meeting.members) return;
  const RankTask& first = plans_[meeting.begun.front().first].tasks[meeting.begun.front().second];
  for (const auto& [other, place] : meeting.begun) {
    const RankTask& its = plans_[other].tasks[place];
    CHECK(groups_.leader[its.task] == groups_.leader[first.task]);  // what began together belongs together
    CHECK(its.bytes == first.bytes);
    const auto left = left_.find({other, place});  // of a transfer, messages still to come
    if (left == left_.end() || --left->second == 0) received(other, place);
  }
}

Together::Meeting& Together::message_of(std::size_t rank, const RankTask& task, int peer) {
  const bool sends = task.operation == RankTask::Operation::send;
  const auto own = static_cast<int>(rank);
  const StreamKind stream = plans_[rank].queues[task.queue].stream;
  const bool forward = stream == StreamKind::send_forward || stream == StreamKind::recv_forward;
  const int from = sends ? own : peer;
  const int to = sends ? peer : own;
  const auto count = counts_[{1, static_cast<int>(rank), from, to, forward}]++;
  Meeting& out = meetings_[{1, count, from, to, forward}];
  out.members = 2;
  return out;
}

Together::Meeting& Together::meeting_of(std::size_t rank, const RankTask& task) {
  const auto group = static_cast<int>(task.group);
  const auto count = counts_[{0, static_cast<int>(rank), group, 0, false}]++;
  Meeting& out = meetings_[{0, count, group, 0, false}];
  out.members = groups_.groups[task.group].ranks.size();
  return out;
}

// A gather ends when its last member has all that it was sent.
void Together::received(std::size_t rank, std::uint32_t index) {
  const RankTask& task = plans_[rank].tasks[index];
  if (task.gathered_bytes == 0) return end(rank, index);
  const auto group = static_cast<int>(task.gather_group);
  const auto count = counts_[{2, static_cast<int>(rank), group, 0, false}]++;
  Meeting& meeting = gathers_[{group, count}];
  meeting.begun.emplace_back(rank, index);
  const std::vector<int>& members = groups_.groups[task.gather_group].ranks;
  if (meeting.begun.size() < members.size()) return;
  for (const auto& [other, place] : meeting.begun) {
    const RankTask& its = plans_[other].tasks[place];
    CHECK(its.gathered_bytes == task.gathered_bytes);
    CHECK(its.gathered_bytes == doctest::Approx(static_cast<double>(members.size() * its.peers.size()) * its.bytes));
    end(other, place);
  }
}

void Together::end(std::size_t rank, std::uint32_t index) {
  ended_[rank][index] = 1;
  times_[rank][index].end = ++clock_;
}

}  // namespace mirfak::test
