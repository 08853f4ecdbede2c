#include "executor/measured_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mirfak::measure {

namespace {

class TimelineBuilder {
 public:
  TimelineBuilder(const Program& program, const ExecutionGroups& groups, std::span<const std::vector<TaskTime>> times)
      : program_(program), groups_(groups), times_(times), next_(times.size(), 0) {}

  Timeline build() {
    collect();
    Timeline out;
    out.start.resize(program_.size());
    out.end.resize(program_.size());
    for (TaskId task = 0; task < program_.size(); ++task) {
      const TaskId leader = groups_.leader[task];
      const double start = together_[leader];
      out.start[task] = picoseconds(start);
      out.end[task] = is_meeting(task) ? out.start[task] : picoseconds(std::max(start, end_[task]));
      out.makespan = std::max(out.makespan, out.end[task]);
    }
    out.events = program_.size();
    return out;
  }

 private:
  bool is_meeting(TaskId task) const { return program_.class_of(task).kind == TaskKind::meeting; }
  Picoseconds picoseconds(double seconds) const {
    return static_cast<Picoseconds>(std::llround((seconds - origin_) * 1e12));
  }

  // Walks the program as rank_plan() does, and takes the next time of each rank that has the task.
  void collect() {
    end_.assign(program_.size(), 0);
    together_.assign(program_.size(), -std::numeric_limits<double>::infinity());
    origin_ = std::numeric_limits<double>::infinity();
    for (TaskId task = 0; task < program_.size(); ++task) {
      if (groups_.is_meeting[task] != 0) {
        for (const int rank : groups_.groups[static_cast<std::size_t>(groups_.of_task[task])].ranks) take(task, rank);
      } else if (!is_meeting(task)) {
        take(task, static_cast<int>(program_.ranks[program_.streams[program_.stream[task]].rank].rank));
      }
    }
    for (TaskId task = 0; task < program_.size(); ++task) {
      if (std::isfinite(together_[groups_.leader[task]])) continue;
      place_empty_meeting(task);
    }
  }

  void take(TaskId task, int rank) {
    const auto place = static_cast<std::size_t>(rank);
    const TaskTime& time = times_[place][next_[place]++];
    double& together = together_[groups_.leader[task]];
    together = std::max(together, time.ready);
    end_[task] = std::max(end_[task], time.end);
    origin_ = std::min(origin_, time.ready);
  }

  // Places a meeting of a single rank, or in front of nothing: when all that it waits for has ended.
  void place_empty_meeting(TaskId task) {
    double latest = origin_;
    for (const TaskId before : program_.dependencies_of(task)) {
      latest = std::max(latest, std::max(together_[groups_.leader[before]], end_[before]));
    }
    together_[task] = latest;
  }

  const Program& program_;
  const ExecutionGroups& groups_;
  std::span<const std::vector<TaskTime>> times_;
  std::vector<std::size_t> next_;  // by rank
  std::vector<double> end_;
  std::vector<double> together_;  // by leader: when the last rank was ready
  double origin_ = 0;
};

}  // namespace

Timeline measured_timeline(const Program& program, const ExecutionGroups& groups,
                           std::span<const std::vector<TaskTime>> times) {
  return TimelineBuilder(program, groups, times).build();
}

}  // namespace mirfak::measure
