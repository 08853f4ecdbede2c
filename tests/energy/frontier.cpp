#include "energy/frontier.hpp"

#include "profiles.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// Calls each(executed) for every way to choose clocks.
template <class Each>
void every_assignment(const ClockedProgram& clocked, TaskId task, ClockAssignment& clocks, const Each& each) {
  if (task == clocks.size()) {
    each(execute_clocks(clocked, clocks));
    return;
  }
  for (const ClockChoice& choice : clocked.settings[static_cast<std::size_t>(clocked.kind_of(task))]) {
    clocks[task] = choice;
    every_assignment(clocked, task + 1, clocks, each);
  }
}

void check_plans(const ClockedProgram& clocked, const Frontier& found) {
  for (const StragglerPlan& plan : found.plans) {
    CHECK(plan.executed.makespan <= plan.deadline);
    CHECK(plan.executed.makespan <= plan.planned);
    CHECK(plan.executed.energy_j >= plan.planned_energy_j - clocked.blocked_w * to_seconds(plan.planned) * 1e-9 -
                                        clocked.blocked_w * to_seconds(plan.planned - plan.executed.makespan));
    const ExecutedClocks again = execute_clocks(clocked, plan.executed.clocks);
    CHECK(again.makespan == plan.executed.makespan);
    CHECK(again.energy_j == plan.executed.energy_j);
    for (const Baseline& baseline : plan.baselines) {
      if (baseline.executed.makespan > plan.deadline) continue;
      CHECK(plan.energy_until_deadline_j(plan.executed, found.blocked_w) <=
            plan.energy_until_deadline_j(baseline.executed, found.blocked_w));
    }
  }
}

}  // namespace

TEST_CASE("of all ways to choose clocks none lies below the frontier, and plans come close to the best") {
  const ClockedProgram clocked = pipeline(simple_profile({0.01, 0.012}), 2);
  const std::vector<double> slowdowns = {1.1, 1.25};
  const Frontier found = frontier(clocked, slowdowns);
  ClockAssignment clocks(clocked.program.size());
  std::vector<double> best(found.plans.size(), std::numeric_limits<double>::infinity());
  every_assignment(clocked, 0, clocks, [&](const ExecutedClocks& executed) {
    const double time_s = to_seconds(executed.makespan);
    REQUIRE(found.min_energy_j(time_s));
    REQUIRE(executed.energy_j >= *found.min_energy_j(time_s) * (1 - 1e-9));
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (executed.makespan > found.plans[i].deadline) continue;
      best[i] = std::min(best[i], found.plans[i].energy_until_deadline_j(executed, found.blocked_w));
    }
  });
  for (std::size_t i = 0; i < best.size(); ++i) {
    const StragglerPlan& plan = found.plans[i];
    const double energy = plan.energy_until_deadline_j(plan.executed, found.blocked_w);
    CHECK(energy >= best[i] * (1 - 1e-9));
    CHECK(energy <= best[i] * 1.05);  // of three clocks, where rounding is coarse
  }
}

TEST_CASE("plans keep their deadlines and beat simpler ones, under every schedule") {
  const std::vector<double> slowdowns = {1.05, 1.3, 1.7, 3};
  const StageProfile uneven = simple_profile({0.010, 0.0123, 0.008, 0.0111});
  for (const ClockedProgram& clocked : {pipeline(uneven, 12), pipeline(uneven, 12, schedule_named("gpipe")),
                                        pipeline(uneven, 12, schedule_named("interleaved-1f1b"), 3)}) {
    const Frontier found = frontier(clocked, slowdowns);
    REQUIRE(found.plans.size() == 5);
    CHECK(found.intrinsic_saving() > 0.02);
    check_plans(clocked, found);
  }
}

TEST_CASE("the frontier falls and is convex, from the shortest iteration to the thriftiest") {
  const Frontier found = frontier(pipeline(simple_profile({0.01, 0.012, 0.009}), 10));
  REQUIRE(found.points.size() > 2);
  CHECK(found.points.front().iteration_time_s == found.t_min_s);
  CHECK(found.points.back().iteration_time_s == found.t_star_s);
  double slope_before = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < found.points.size(); ++i) {
    const FrontierPoint& from = found.points[i - 1];
    const FrontierPoint& to = found.points[i];
    const double slope = (to.energy_j - from.energy_j) / (to.iteration_time_s - from.iteration_time_s);
    CHECK(slope < 0);
    CHECK(slope >= slope_before);
    slope_before = slope;
  }
}

TEST_CASE("a straggler that takes very long: every pass at the clock where it needs least above waiting") {
  const std::vector<double> slowdowns = {100};
  const ClockedProgram clocked = pipeline(simple_profile({0.01, 0.012}), 4);
  const StragglerPlan plan = frontier(clocked, slowdowns).plans.back();
  for (TaskId task = 0; task < clocked.program.size(); ++task) {
    CHECK(plan.executed.clocks[task] == clocked.choices_for(task).useful.front());
  }
}

TEST_CASE("degenerate pipelines: one stage, one microbatch, one clock") {
  for (const int microbatches : {1, 5}) {
    for (const std::vector<double>& stages : {std::vector<double>{0.01}, std::vector<double>{0.01, 0.02}}) {
      check_plans(pipeline(simple_profile(stages), microbatches),
                  frontier(pipeline(simple_profile(stages), microbatches)));
    }
  }
  StageProfile one_clock = simple_profile({0.01, 0.02});
  for (auto& stage : one_clock.stages) {
    for (auto& choices : stage) choices.resize(1);
  }
  const Frontier found = frontier(pipeline(one_clock, 4));
  CHECK(found.points.size() == 1);
  CHECK(found.t_min_s == found.t_star_s);
  CHECK(found.intrinsic_saving() == doctest::Approx(0));
}

TEST_CASE("where waiting costs nothing, every second less costs: the thriftiest iteration is the slowest") {
  const ClockedProgram clocked = pipeline(simple_profile({0.01, 0.01}), 4, schedule_named("1f1b"), 1, 0);
  const Frontier found = frontier(clocked);
  CHECK(found.t_star_s == doctest::Approx(2 * found.t_min_s));
}
