// A GPU's power as a state that its tasks hand on to each other: it falls while there is no work for it and rises with
// work that needs more. So the length of a task depends on when it starts, but on nothing later, and the sweep over a
// topological order is still exact where no links are shared. Elsewhere lengths and times are computed in turns until
// both stay. Example: 100 W while waiting, 500 W/s up, a task of 300 W for 1 s whose speed is proportional to the power
// above waiting: after 0.4 s the power is there and half of 0.4 s of the work is done, so the task takes 1.2 s.
#include "simulation/power_ramp.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"
#include "cluster/gpu_throttle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace mirfak {

PowerRamp::PowerRamp(const PowerFloor& floor, const StagePlan& plan)
    : floor_(floor),
      gpu_(plan.costs.hardware->hardware.gpu),
      clock_(plan.costs.kernels.clock_share()),
      least_w_(std::max(gpu_.blocked_w.value, floor.share * gpu_.limit_w())) {}

double PowerRamp::after_wait(double watts, Picoseconds wait) const {
  return std::max(least_w_, watts - floor_.ramp_down_w_per_s * to_seconds(wait));
}

namespace {

// Returns the power up to which `work` seconds of a task are done while its power rises by 1 W/s from `from_w`.
double power_after(const WorkUnderLimit& of, double from_w, double to_w, double work) {
  double low_w = from_w;
  for (int halvings = 0; halvings < 64; ++halvings) {
    const double middle_w = (low_w + to_w) / 2;
    (of.speed_times_watts(from_w, middle_w) < work ? low_w : to_w) = middle_w;
  }
  return to_w;
}

}  // namespace

RampedTask PowerRamp::run(double watts, Picoseconds duration, double energy_j) const {
  if (duration == 0) return {0, 0, watts, watts, watts};
  const double seconds = to_seconds(duration);
  const double full_w = gpu_.blocked_w.value + energy_j / seconds;
  if (full_w <= watts) return {0, duration, watts, watts, std::max(full_w, after_wait(watts, duration))};
  const WorkUnderLimit work(gpu_, clock_, full_w);
  const double up = floor_.ramp_up_w_per_s;
  const double done_s = work.speed_times_watts(watts, full_w) / up;
  const double last_w = done_s <= seconds ? full_w : power_after(work, watts, full_w, seconds * up);
  const double rising_s = (last_w - watts) / up;
  RampedTask out{to_picoseconds(rising_s), 0, watts, last_w, last_w};
  out.lasting = std::max(duration, to_picoseconds(rising_s + std::max(0.0, seconds - done_s)));
  out.rising = std::min(out.rising, out.lasting);
  return out;
}

RampedEnergy energy_above_waiting(const RampedTask& task, const TimeSpan& span, Picoseconds duration, double energy_j,
                                  double blocked_w) {
  const Picoseconds risen = std::min(span.end, span.start + task.rising);
  const double even_j = energy_j * static_cast<double>(span.end - risen) / static_cast<double>(duration);
  return {{span.start, risen, task.first_w - blocked_w, task.last_w - blocked_w}, {risen, span.end, even_j}};
}

namespace {

// The power that each GPU of a program may draw, through an iteration and on to the next one.
class RampStates {
 public:
  RampStates(const PowerFloor& floor, std::span<const StagePlan> plans, const Program& program) : program_(program) {
    for (const StagePlan& plan : plans) ramps_.emplace_back(floor, plan);
    for (const ProgramRank& rank : program.ranks) first_w_.push_back(ramps_[rank.plan].least_w());
    begin();
  }

  // Begins an iteration.
  void begin() {
    states_.clear();
    for (const double watts : first_w_) states_.push_back({0, watts});
  }

  bool has(TaskId task) const { return program_.streams[program_.stream[task]].kind == StreamKind::compute; }

  // Runs the next task of a compute stream.
  RampedTask run(TaskId task, Picoseconds start) {
    const std::uint32_t rank = program_.rank_of(task);
    State& state = states_[rank];
    const PowerRamp& ramp = ramps_[program_.ranks[rank].plan];
    const double watts = ramp.after_wait(state.watts, start - state.since);
    const RampedTask out = ramp.run(watts, program_.duration[task], program_.class_of(task).energy_j);
    state = {start + out.lasting, out.end_w};
    return out;
  }

  // Ends an iteration. Returns true if all powers at its end are those at its beginning; else the next one begins with
  // those at its end.
  bool ends_as_begun(Picoseconds makespan) {
    constexpr double kSame = 1e-7;  // of the power
    bool same = true;
    for (std::size_t rank = 0; rank < states_.size(); ++rank) {
      const PowerRamp& ramp = ramps_[program_.ranks[rank].plan];
      const double end_w = ramp.after_wait(states_[rank].watts, makespan - states_[rank].since);
      same = same && std::abs(end_w - first_w_[rank]) <= kSame * end_w;
      first_w_[rank] = end_w;
    }
    return same;
  }

 private:
  struct State {
    Picoseconds since = 0;
    double watts = 0;
  };

  const Program& program_;
  std::vector<PowerRamp> ramps_;  // by plan
  std::vector<double> first_w_;   // by rank: at the beginning of the iteration
  std::vector<State> states_;     // by rank: after its last task
};

[[noreturn]] void fail_unsettled(const char* what) {
  fail_infeasible({}, fmt::format("cluster.power_floor: {} after {} iterations", what, kMostRampRounds),
                  "raise ramp_up_w_per_s, or leave out ramp_up_slows_work");
}

// One sweep (engine/sweep.cpp) with the lengths that follow from each GPU's power.
Timeline sweep(const Program& program, RampStates& states) {
  Timeline out;
  out.start.resize(program.size());
  out.end.resize(program.size());
  std::vector<Picoseconds> free_at(program.streams.size());
  CancellationSteps steps;
  states.begin();
  for (TaskId task = 0; task < program.size(); ++task) {
    steps.step();
    Picoseconds start = free_at[program.stream[task]];
    for (const TaskId before : program.dependencies_of(task)) start = std::max(start, out.end[before]);
    const Picoseconds lasting = states.has(task) ? states.run(task, start).lasting : program.duration[task];
    out.start[task] = start;
    free_at[program.stream[task]] = out.end[task] = start + lasting;
    out.makespan = std::max(out.makespan, out.end[task]);
  }
  out.events = program.size();
  return out;
}

// Computes lengths from times and times from lengths in turns.
Timeline execute_in_turns(const Program& program, RampStates& states, Executor executor) {
  Program slowed = program;
  for (int round = 0; round < kMostRampRounds; ++round) {
    check_cancelled();
    Timeline out = execute(slowed, executor);
    states.begin();
    bool same = true;
    for (TaskId task = 0; task < program.size(); ++task) {
      if (!states.has(task)) continue;
      const Picoseconds lasting = states.run(task, out.start[task]).lasting;
      constexpr Picoseconds kSame = 1000;  // a nanosecond: rounded times need not settle to the last digit
      same = same && std::abs(lasting - slowed.duration[task]) <= kSame;
      slowed.duration[task] = lasting;
    }
    if (states.ends_as_begun(out.makespan) && same) return out;
  }
  fail_unsettled("times on shared links do not settle");
}

}  // namespace

Timeline execute_with_ramps(const PowerFloor& floor, std::span<const StagePlan> plans, const Program& program,
                            Executor executor) {
  RampStates states(floor, plans, program);
  if (program.shares_links()) return execute_in_turns(program, states, executor);
  for (int round = 0; round < kMostRampRounds; ++round) {
    Timeline out = sweep(program, states);
    if (states.ends_as_begun(out.makespan)) return out;
  }
  fail_unsettled("power has not settled");
}

RampedTasks ramped_tasks(const PowerFloor& floor, std::span<const StagePlan> plans, const Program& program,
                         const Timeline& timeline) {
  RampStates states(floor, plans, program);
  RampedTasks out;
  for (int round = 0; round < kMostRampRounds; ++round) {
    out.clear();
    states.begin();
    for (TaskId task = 0; task < program.size(); ++task) {
      if (!states.has(task)) continue;
      const RampedTask run = states.run(task, timeline.start[task]);
      if (run.rising > 0) out.emplace(task, run);
    }
    if (states.ends_as_begun(timeline.makespan)) break;
  }
  return out;
}

double seconds_on_ramps(const Program& program, const Timeline& timeline) {
  double seconds = 0;
  double ranks = 0;
  for (const ProgramRank& rank : program.ranks) ranks += rank.multiplicity;
  for (TaskId task = 0; task < program.size(); ++task) {
    if (program.streams[program.stream[task]].kind != StreamKind::compute) continue;
    const Picoseconds longer = timeline.end[task] - timeline.start[task] - program.duration[task];
    seconds += to_seconds(longer) * program.ranks[program.rank_of(task)].multiplicity;
  }
  return seconds / ranks;
}

}  // namespace mirfak
