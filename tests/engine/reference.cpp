#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace mirfak {

namespace {

constexpr Picoseconds kNotYet = std::numeric_limits<Picoseconds>::max();

// Returns the tasks for which each task waits: its dependencies and the task before it on its stream.
std::vector<std::vector<TaskId>> all_predecessors(const Program& program) {
  std::vector<std::vector<TaskId>> before(program.size());
  for (TaskId task = 0; task < program.size(); ++task) {
    const auto dependencies = program.dependencies_of(task);
    before[task].assign(dependencies.begin(), dependencies.end());
    for (TaskId other = 0; other < task; ++other) {
      if (program.stream[other] == program.stream[task]) before[task].push_back(other);
    }
  }
  return before;
}

Timeline relax(const Program& program) {
  const auto before = all_predecessors(program);
  Timeline timeline;
  timeline.start.assign(program.size(), 0);
  timeline.end = program.duration;
  for (bool changed = true; changed;) {
    changed = false;
    for (TaskId task = 0; task < program.size(); ++task) {
      for (const TaskId other : before[task]) {
        if (timeline.start[task] >= timeline.end[other]) continue;
        timeline.start[task] = timeline.end[other];
        timeline.end[task] = timeline.start[task] + program.duration[task];
        changed = true;
      }
    }
  }
  return timeline;
}

struct FluidRun {
  const Program& program;
  std::vector<std::vector<TaskId>> before = all_predecessors(program);
  std::vector<double> work{program.duration.begin(), program.duration.end()};
  std::vector<Picoseconds> start = std::vector<Picoseconds>(program.size(), kNotYet);
  std::vector<Picoseconds> end = std::vector<Picoseconds>(program.size(), kNotYet);

  bool may_start(TaskId task) const {
    return start[task] == kNotYet &&
           std::all_of(before[task].begin(), before[task].end(), [&](TaskId b) { return end[b] != kNotYet; });
  }

  // Starts what can start at `now`; tasks of no duration end at once and may let others start.
  void start_ready(Picoseconds now) {
    for (TaskId task = 0; task < program.size(); ++task) {
      if (!may_start(task)) continue;
      start[task] = now;
      if (program.duration[task] == 0) end[task] = now;
    }
  }

  std::vector<TaskId> running() const {
    std::vector<TaskId> tasks;
    for (TaskId task = 0; task < program.size(); ++task) {
      if (start[task] != kNotYet && end[task] == kNotYet) tasks.push_back(task);
    }
    return tasks;
  }

  std::vector<double> speeds(const std::vector<TaskId>& tasks) const {
    std::vector<std::vector<std::pair<LinkId, double>>> demands;
    std::vector<double> capacities;
    for (const TaskId task : tasks) {
      demands.emplace_back();
      for (const LinkUse& use : program.traffic_of(task)) {
        demands.back().emplace_back(use.link, use.bytes_per_s / program.slower_by(task));
      }
    }
    for (const Link& link : program.links) capacities.push_back(link.bytes_per_s);
    return reference_speeds(demands, capacities);
  }

  Timeline run() {
    Picoseconds now = 0;
    start_ready(now);
    for (auto tasks = running(); !tasks.empty(); tasks = running()) {
      const auto speed = speeds(tasks);
      Picoseconds next = kNotYet;
      for (std::size_t k = 0; k < tasks.size(); ++k) {
        next = std::min<Picoseconds>(next, now + std::llround(work[tasks[k]] / speed[k]));
      }
      for (std::size_t k = 0; k < tasks.size(); ++k) {
        if (now + std::llround(work[tasks[k]] / speed[k]) == next) end[tasks[k]] = next;
        work[tasks[k]] = std::max(0.0, work[tasks[k]] - speed[k] * static_cast<double>(next - now));
      }
      now = next;
      start_ready(now);
    }
    return {start, end, 0, 0};
  }
};

}  // namespace

Timeline reference_execute(const Program& program) {
  Timeline timeline = program.shares_links() ? FluidRun{program}.run() : relax(program);
  for (const Picoseconds end : timeline.end) timeline.makespan = std::max(timeline.makespan, end);
  timeline.events = program.size();
  return timeline;
}

std::vector<double> reference_speeds(const std::vector<std::vector<std::pair<LinkId, double>>>& demands,
                                     const std::vector<double>& capacities) {
  std::vector<double> speed(demands.size(), 1);
  std::vector<bool> frozen(demands.size(), false);
  while (true) {
    double lowest = 1;
    LinkId at = 0;
    for (LinkId link = 0; link < capacities.size(); ++link) {
      double left = capacities[link];
      double rising = 0;
      for (std::size_t task = 0; task < demands.size(); ++task) {
        for (const auto& [used, demand] : demands[task]) {
          if (used != link) continue;
          if (frozen[task]) left -= speed[task] * demand;
          if (!frozen[task]) rising += demand;
        }
      }
      if (rising > 0 && left / rising < lowest) {
        lowest = left / rising;
        at = link;
      }
    }
    if (lowest >= 1) return speed;
    for (std::size_t task = 0; task < demands.size(); ++task) {
      for (const auto& [used, demand] : demands[task]) {
        if (used != at || demand <= 0 || frozen[task]) continue;
        frozen[task] = true;
        speed[task] = lowest;
      }
    }
  }
}

}  // namespace mirfak
