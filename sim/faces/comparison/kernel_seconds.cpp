#include "comparison/kernel_seconds.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace mirfak {

namespace {

bool is_counted(const Program& program, TaskId task) {
  const TaskKind kind = program.class_of(task).kind;
  if (kind == TaskKind::issue || kind == TaskKind::meeting) return false;
  const StreamKind stream = program.streams[program.stream[task]].kind;
  return stream != StreamKind::recv_forward && stream != StreamKind::recv_backward;
}

// True if a task communicates for most of its time.
bool is_communication(const TaskClass& described) {
  if (described.kind == TaskKind::collective || described.kind == TaskKind::transfer) return true;
  const auto most = std::max_element(described.activity_s.begin(), described.activity_s.end());
  const auto activity = static_cast<Activity>(most - described.activity_s.begin());
  return *most > 0 && activity >= Activity::tensor_communication;
}

}  // namespace

std::vector<KernelSeconds> kernel_seconds(const Simulation& simulation) {
  LoweringOptions options;
  options.operators = true;
  const Program program = simulation.lowered_as(options);
  const Timeline timeline = simulation.times_of(program);
  double ranks = 0;
  for (const ProgramRank& rank : program.ranks) ranks += rank.multiplicity;
  std::map<std::pair<TaskKind, std::string>, KernelSeconds> sums;
  for (TaskId task = 0; task < program.size(); ++task) {
    if (!is_counted(program, task)) continue;
    const TaskClass& described = program.class_of(task);
    KernelSeconds& sum = sums[{described.kind, described.name}];
    const double share = program.ranks[program.rank_of(task)].multiplicity / ranks;
    sum.communicates = is_communication(described);
    sum.times += share;
    sum.seconds += share * to_seconds(timeline.end[task] - timeline.start[task]);
  }
  std::vector<KernelSeconds> out;
  for (auto& [key, sum] : sums) {
    sum.kind = key.first;
    sum.name = key.second;
    out.push_back(sum);
  }
  return out;
}

}  // namespace mirfak
