#pragma once

#include "energy/baselines.hpp"
#include "energy/clock_plan.hpp"
#include "energy/clocked_program.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// Time and energy of an iteration, all ranks, waiting included.
struct FrontierPoint {
  double iteration_time_s = 0;
  double energy_j = 0;
};

// Plan for other pipelines that make the iteration `slowdown` times as long as the highest clocks would.
struct StragglerPlan {
  double slowdown = 1;       // 1: no pipeline is slower
  Picoseconds deadline = 0;  // slowdown x the makespan at the highest clocks
  // Makespan of the plan: the deadline, or less if slowing down further would save nothing.
  Picoseconds planned = 0;
  double planned_energy_j = 0;  // until `planned`
  ExecutedClocks executed;      // at clocks that exist; never later than the deadline
  std::vector<Baseline> baselines;

  // Returns the energy of this pipeline until the straggler is done.
  double energy_until_deadline_j(const ExecutedClocks& of, double blocked_w) const;
  // Returns the share that `of` saves of the energy at the highest clocks until the straggler is done.
  double saving(const ExecutedClocks& of, double blocked_w) const;
};

// The iteration time-energy frontier of a pipeline.
struct Frontier {
  // Corners of the curve from the shortest iteration to the iteration that needs least energy. Energy is linear in time
  // between corners; the curve is falling and convex.
  std::vector<FrontierPoint> points;
  double t_min_s = 0;   // the shortest iteration
  double t_star_s = 0;  // the iteration that needs least energy
  double blocked_w = 0;
  std::vector<StragglerPlan> plans;  // by slowdown, ascending; the first slowdown is 1
  std::size_t activities = 0;        // passes whose clock can be chosen

  // Returns the least energy of an iteration that may take this long; nullopt if no iteration is so short.
  std::optional<double> min_energy_j(double iteration_time_s) const;
  double intrinsic_saving() const { return plans.front().saving(plans.front().executed, blocked_w); }
};

// Computes the frontier and a plan for each slowdown. `slowdowns`: each at least 1. The curve is exact for programs
// whose tasks share no links. If they do, transfers are taken to last as long as at the highest clocks, and plans are
// made again until the engine keeps their deadlines.
Frontier frontier(const ClockedProgram& clocked, std::span<const double> slowdowns = {});

// Returns the plan for one deadline: the plan of frontier() for a straggler with this deadline, without tracing the
// rest of the curve.
ExecutedClocks plan_for(const ClockedProgram& clocked, Picoseconds deadline);

// Returns the clocks with which an iteration needs least energy, waiting included, however long it takes.
ExecutedClocks min_energy_plan(const ClockedProgram& clocked);

// Both of these plans, of one curve.
struct TwoPlans {
  ExecutedClocks for_deadline;
  ExecutedClocks least_energy;
};
TwoPlans plans_for(const ClockedProgram& clocked, Picoseconds deadline);

}  // namespace mirfak
