#include "executor/collective_plans.hpp"

#include <algorithm>

namespace mirfak::measure {

namespace {

CollectivePlans plans_of(int ranks, StreamKind stream) {
  CollectivePlans out;
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlan& plan = out.plans.emplace_back();
    plan.rank = rank;
    plan.queues = {{stream, {}}};
  }
  return out;
}

void add(CollectivePlans& out, int rank, RankTask task, TaskId leader) {
  RankPlan& plan = out.plans[static_cast<std::size_t>(rank)];
  plan.queues.front().tasks.push_back(static_cast<std::uint32_t>(plan.tasks.size()));
  plan.max_bytes = std::max(plan.max_bytes, task.bytes);
  plan.tasks.push_back(std::move(task));
  out.groups.leader.push_back(leader);
}

// Calls `one` with the bytes of each operation, in order.
template <typename One>
void for_each_operation(std::span<const double> sizes, int times, const One& one) {
  for (const double bytes : sizes) {
    for (int i = 0; i < times; ++i) one(bytes);
  }
}

}  // namespace

CollectivePlans collective_plans(CollectiveKind kind, std::span<const int> group, int ranks,
                                 std::span<const double> sizes, int times) {
  CollectivePlans out = plans_of(ranks, StreamKind::data);
  out.groups.groups.push_back({StreamKind::data, {group.begin(), group.end()}});
  for_each_operation(sizes, times, [&](double bytes) {
    const auto leader = static_cast<TaskId>(out.groups.leader.size());
    for (const int rank : group) {
      RankTask task;
      task.task = static_cast<TaskId>(out.groups.leader.size());
      task.operation = RankTask::Operation::collective;
      task.collective = kind;
      task.bytes = bytes;
      add(out, rank, std::move(task), leader);
    }
  });
  return out;
}

CollectivePlans transfer_plans(std::span<const int> pair, int ranks, std::span<const double> sizes, int times) {
  CollectivePlans out = plans_of(ranks, StreamKind::send_forward);
  for_each_operation(sizes, times, [&](double bytes) {
    const auto leader = static_cast<TaskId>(out.groups.leader.size());
    for (std::size_t end = 0; end < 2; ++end) {
      RankTask task;
      task.task = static_cast<TaskId>(out.groups.leader.size());
      task.operation = end == 0 ? RankTask::Operation::send : RankTask::Operation::receive;
      task.peers = {pair[1 - end]};
      task.bytes = bytes;
      add(out, pair[end], std::move(task), leader);
    }
  });
  return out;
}

}  // namespace mirfak::measure
