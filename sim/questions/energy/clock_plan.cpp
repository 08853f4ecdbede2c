#include "energy/clock_plan.hpp"

#include "base/units.hpp"
#include "engine/execute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace mirfak {

namespace {

// Goes through a program in its order and computes when each task can start, while durations are decided on the way.
class ForwardWalk {
 public:
  explicit ForwardWalk(const Program& program)
      : program_(program), end_(program.size()), stream_end_(program.streams.size(), 0) {}

  Picoseconds start(TaskId task) const {
    Picoseconds start = stream_end_[program_.stream[task]];
    for (const TaskId before : program_.dependencies_of(task)) start = std::max(start, end_[before]);
    return start;
  }
  void run(TaskId task, Picoseconds start, Picoseconds duration) {
    end_[task] = stream_end_[program_.stream[task]] = start + duration;
  }
  Picoseconds makespan() const { return *std::max_element(stream_end_.begin(), stream_end_.end()); }

 private:
  const Program& program_;
  std::vector<Picoseconds> end_;
  std::vector<Picoseconds> stream_end_;
};

// Returns the slowest useful choice that takes no longer than `available`; the fastest choice if there is none.
const ClockChoice& slowest_within(const PassChoices& choices, Picoseconds available) {
  const auto found = std::find_if(choices.useful.begin(), choices.useful.end(),
                                  [&](const ClockChoice& choice) { return choice.duration <= available; });
  return found == choices.useful.end() ? choices.useful.back() : *found;
}

// Gives every clocked task the slowest clock with which it ends in time. `latest_end`: by task.
Picoseconds slow_down(const ClockedProgram& clocked, std::span<const Picoseconds> latest_end, ClockAssignment& clocks) {
  const Program& program = clocked.program;
  ForwardWalk walk(program);
  for (TaskId task = 0; task < program.size(); ++task) {
    const Picoseconds start = walk.start(task);
    Picoseconds duration = clocked.lasts[task];
    if (clocked.is_clocked(task)) {
      clocks[task] = slowest_within(clocked.choices_for(task), latest_end[task] - start);
      duration = clocks[task].duration;
    }
    walk.run(task, start, duration);
  }
  return walk.makespan();
}

// Returns the latest end of each task with which the program takes `makespan` with these clocks.
std::vector<Picoseconds> latest_ends_of(const ClockedProgram& clocked, const ClockAssignment& clocks,
                                        Picoseconds makespan) {
  const Program& program = clocked.program;
  std::vector<Picoseconds> latest(program.size(), makespan);
  std::vector<Picoseconds> next_start(program.streams.size(), makespan);
  for (TaskId task = static_cast<TaskId>(program.size()); task-- > 0;) {
    Picoseconds& of_stream = next_start[program.stream[task]];
    latest[task] = std::min(latest[task], of_stream);
    of_stream = latest[task] - (clocked.is_clocked(task) ? clocks[task].duration : clocked.lasts[task]);
    for (const TaskId before : program.dependencies_of(task)) latest[before] = std::min(latest[before], of_stream);
  }
  return latest;
}

}  // namespace

Picoseconds planned_makespan(const ClockedProgram& clocked, const ClockAssignment& clocks) {
  ForwardWalk walk(clocked.program);
  for (TaskId task = 0; task < clocks.size(); ++task) {
    walk.run(task, walk.start(task), clocked.is_clocked(task) ? clocks[task].duration : clocked.lasts[task]);
  }
  return walk.makespan();
}

std::vector<Picoseconds> slacks(const ClockedProgram& clocked, const ClockAssignment& clocks, Picoseconds makespan) {
  std::vector<Picoseconds> out = latest_ends_of(clocked, clocks, makespan);
  ForwardWalk walk(clocked.program);
  for (TaskId task = 0; task < clocks.size(); ++task) {
    const Picoseconds start = walk.start(task);
    const Picoseconds duration = clocked.is_clocked(task) ? clocks[task].duration : clocked.lasts[task];
    walk.run(task, start, duration);
    out[task] -= start + duration;
  }
  return out;
}

Program with_clocks(const ClockedProgram& clocked, const ClockAssignment& clocks) {
  Program program = clocked.program;
  std::map<std::tuple<ClassId, double, const PassWay*>, ClassId> classes;
  for (TaskId task = 0; task < program.size(); ++task) {
    if (!clocked.is_clocked(task)) continue;
    const ClockChoice& choice = clocks[task];
    program.duration[task] = choice.duration;
    const auto [known, is_new] = classes.try_emplace({program.task_class[task], choice.clock_hz, choice.way.get()}, 0);
    if (is_new) {
      TaskClass at_clock = program.classes[program.task_class[task]];
      at_clock.name += fmt::format(" at {:.0f} MHz", choice.clock_hz / kMegahertz);
      at_clock.energy_j = choice.energy_j / clocked.multiplicity(task);
      const double stretch = static_cast<double>(choice.duration) /
                             static_cast<double>(std::max<Picoseconds>(clocked.program.duration[task], 1));
      for (double& seconds : at_clock.activity_s) seconds *= stretch;
      known->second = program.add_class(std::move(at_clock));
    }
    program.task_class[task] = known->second;
  }
  return program;
}

Timeline timeline_with(const ClockedProgram& clocked, const ClockAssignment& clocks) {
  return execute(with_clocks(clocked, clocks));
}

ExecutedClocks execute_clocks(const ClockedProgram& clocked, ClockAssignment clocks) {
  const Program program = with_clocks(clocked, clocks);
  ExecutedClocks out;
  out.makespan = execute(program).makespan;
  out.energy_j = clocked.blocked_w * to_seconds(out.makespan);
  for (TaskId task = 0; task < program.size(); ++task) {
    out.energy_j += program.class_of(task).energy_j * clocked.multiplicity(task);
  }
  out.clocks = std::move(clocks);
  return out;
}

ClockAssignment highest_clocks(const ClockedProgram& clocked) {
  ClockAssignment clocks(clocked.program.size());
  for (TaskId task = 0; task < clocks.size(); ++task) {
    if (clocked.is_clocked(task))
      clocks[task] = clocked.settings[static_cast<std::size_t>(clocked.kind_of(task))].front();
  }
  return clocks;
}

ClockAssignment nearest_clocks(const ClockedProgram& clocked, std::span<const Picoseconds> latest_ends) {
  std::vector<Picoseconds> by_task(clocked.program.size(), 0);
  std::size_t next = 0;
  for (TaskId task = 0; task < by_task.size(); ++task) {
    if (clocked.is_clocked(task)) by_task[task] = latest_ends[next++];
  }
  ClockAssignment clocks(clocked.program.size());
  const Picoseconds makespan = slow_down(clocked, by_task, clocks);
  slow_down(clocked, latest_ends_of(clocked, clocks, makespan), clocks);
  return clocks;
}

}  // namespace mirfak
