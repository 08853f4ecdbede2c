#pragma once

#include "cluster/facility.hpp"
#include "engine/execute.hpp"
#include "engine/time_spans.hpp"
#include "program/stage_plan.hpp"
#include "simulation/power_floor.hpp"

#include <span>
#include <unordered_map>
#include <vector>

namespace mirfak {

// Work of one task while its GPU's power may rise by so many W/s only (PowerFloor::ramp_up_slows_work): the GPU draws
// what it may, on a line from first_w to last_w, and then what the work draws at full speed.
struct RampedTask {
  Picoseconds rising = 0;   // time until the power is that of full speed, or the task ends
  Picoseconds lasting = 0;  // the task's length
  double first_w = 0;       // power of the GPU at the task's start
  double last_w = 0;        // power after `rising`
  double end_w = 0;         // power that the GPU may draw when the task has ended
};

// The power that a GPU may draw: it follows the work up by at most `floor.ramp_up_w_per_s` and falls by at most
// `floor.ramp_down_w_per_s`, down to the higher of the floor and `blocked_w`.
class PowerRamp {
 public:
  PowerRamp(const PowerFloor& floor, const StagePlan& plan);

  double least_w() const { return least_w_; }
  // Returns the power that a GPU may draw that may draw `watts` and has no work for so long.
  double after_wait(double watts, Picoseconds wait) const;
  // Returns the work of a task that would take `duration` at full speed, for `energy_j` above the power of waiting, on
  // a GPU that may draw `watts` when the task starts. While power is short, the GPU runs at the speed that
  // WorkUnderLimit gives; a pass with collectives inside is slowed as a whole.
  RampedTask run(double watts, Picoseconds duration, double energy_j) const;

 private:
  const PowerFloor& floor_;
  const GpuSpec& gpu_;
  double clock_ = 1;
  double least_w_ = 0;
};

// Executes a program whose GPUs keep such a ramp (`floor.ramp_up_slows_work`), as an iteration that repeats: the power
// at its beginning is that at its end. Ramps hold for tasks of compute streams; what collectives draw besides comes on
// top. Error(infeasible) if power still rises or falls after kMostRampRounds iterations.
Timeline execute_with_ramps(const PowerFloor& floor, std::span<const StagePlan> plans, const Program& program,
                            Executor executor = Executor::automatic);
inline constexpr int kMostRampRounds = 2000;

// Returns the tasks of a program that a ramp slows, from its timeline (execute_with_ramps).
using RampedTasks = std::unordered_map<TaskId, RampedTask>;
RampedTasks ramped_tasks(const PowerFloor& floor, std::span<const StagePlan> plans, const Program& program,
                         const Timeline& timeline);

// Returns the time by which ramps make the work of a rank longer, as the mean over ranks, in s.
double seconds_on_ramps(const Program& program, const Timeline& timeline);

// A task's energy above the power of waiting as a slope and the rest, which is even until the task's end.
struct RampedEnergy {
  PowerSlope rising;
  WorkEnergy even;  // start = end: there is none

  double joules() const { return rising.joules() + even.joules; }
};
RampedEnergy energy_above_waiting(const RampedTask& task, const TimeSpan& span, Picoseconds duration, double energy_j,
                                  double blocked_w);

}  // namespace mirfak
