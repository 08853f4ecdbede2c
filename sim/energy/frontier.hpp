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

// What to do when other pipelines make the iteration `slowdown` times as long as the highest clocks would.
struct StragglerPlan {
  double slowdown = 1;       // 1: nobody is slower
  Picoseconds deadline = 0;  // slowdown x the makespan at the highest clocks
  // At the deadline, or where slowing down further would save nothing.
  Picoseconds planned = 0;
  double planned_energy_j = 0;  // until `planned`
  ExecutedClocks executed;      // at clocks that exist; never later than the deadline
  std::vector<Baseline> baselines;

  // Energy of this pipeline until the straggler is done.
  double energy_until_deadline_j(const ExecutedClocks& of, double blocked_w) const;
  // Of what it takes at the highest clocks until then, the share that `of` saves.
  double saving(const ExecutedClocks& of, double blocked_w) const;
};

// The iteration time-energy frontier of a pipeline.
struct Frontier {
  // The corners of the curve from the shortest iteration to the one that needs least energy. Between them energy is
  // linear in time; falling and convex.
  std::vector<FrontierPoint> points;
  double t_min_s = 0;   // the shortest iteration
  double t_star_s = 0;  // the one that needs least energy
  double blocked_w = 0;
  std::vector<StragglerPlan> plans;  // by slowdown, ascending; the first has none
  std::size_t activities = 0;        // passes whose clock can be chosen

  // The least energy of an iteration that may take so long; nothing if none is so short.
  std::optional<double> min_energy_j(double iteration_time_s) const;
  double intrinsic_saving() const { return plans.front().saving(plans.front().executed, blocked_w); }
};

// `slowdowns`: each at least 1. The curve is exact for programs whose tasks share no links. Where they do it takes
// transfers to last as long as at the highest clocks, and plans are made again until the engine keeps their deadlines.
Frontier frontier(const ClockedProgram& clocked, std::span<const double> slowdowns = {});

// One plan alone, for a deadline: what frontier() finds for a straggler that makes it that long, without tracing the
// rest of the curve.
ExecutedClocks plan_for(const ClockedProgram& clocked, Picoseconds deadline);

// The clocks with which an iteration needs least energy, waiting included, however long it takes.
ExecutedClocks min_energy_plan(const ClockedProgram& clocked);

}  // namespace mirfak
