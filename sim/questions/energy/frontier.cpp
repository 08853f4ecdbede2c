// Energy of an iteration = energy of the passes above waiting + power of waiting x ranks x iteration time (Perseus,
// arXiv 2312.06902, equation 3). The first term is a project whose activities are the passes, so its least value for
// every iteration time is a project cost curve; the second is linear. The sum falls with time as long as a second less
// costs more than all ranks waiting for a second: up to T*.

#include "energy/frontier.hpp"

#include "energy/clock_exchange.hpp"
#include "energy/project_cost.hpp"
#include "engine/execute.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

namespace mirfak {

namespace {

constexpr double kMicrowattsPerWatt = 1e6;

// The curve with everything constant that it needs, and plans for its points.
class Tracing {
 public:
  Tracing(const ClockedProgram& clocked, const ProgramNetwork& network)
      : clocked_(clocked), network_(network), cost_(network.network) {
    const Program& program = clocked.program;
    for (TaskId task = 0; task < program.size(); ++task) {
      if (clocked.is_clocked(task)) {
        cheapest_j_ += clocked.choices_for(task).useful.front().energy_j;
      } else {
        cheapest_j_ += program.class_of(task).energy_j * clocked.multiplicity(task);
        unclocked_j_ += program.class_of(task).energy_j * clocked.multiplicity(task);
      }
    }
  }

  // Moves along the curve to the deadline, if that is shorter.
  void shorten_to(Picoseconds deadline) { cost_.shorten_to(deadline); }
  // Moves to the least energy: from there on a second less costs more than all ranks draw while they wait.
  void shorten_to_least_energy() { cost_.shorten_to(0, waiting_price()); }

  Picoseconds makespan() const { return cost_.makespan(); }
  double energy_j() const { return energy_at(cost_.makespan(), cost_.cost_j()); }
  // Returns clocks that exist. Where rounding to them costs more than kRounding of the energy, passes exchange time.
  ClockAssignment clocks() const {
    constexpr double kRounding = 0.004;
    ClockAssignment out = nearest_clocks(clocked_, network_.latest_ends(cost_.event_times()));
    const double least_j = cheapest_j_ + cost_.cost_j() - unclocked_j_;
    const double enough_j = least_j + kRounding * energy_j();
    if (energy_of_passes(clocked_, out) <= enough_j) return out;
    return exchange_clocks(clocked_, std::move(out), cost_.makespan(), enough_j);
  }
  // Returns the corners so far, the shortest first, up to the point of least energy.
  std::vector<FrontierPoint> points() const {
    const std::vector<ProjectCost::Corner> corners = cost_.corners();
    auto longest = std::find_if(corners.begin(), corners.end() - 1,
                                [&](const ProjectCost::Corner& corner) { return corner.price >= waiting_price(); });
    std::vector<FrontierPoint> out;
    for (; longest != corners.end(); ++longest) {
      out.push_back({to_seconds(longest->makespan), energy_at(longest->makespan, longest->cost_j)});
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  Microwatts waiting_price() const {
    return static_cast<Microwatts>(std::llround(clocked_.blocked_w * kMicrowattsPerWatt));
  }
  double energy_at(Picoseconds makespan, double cost_j) const {
    return cheapest_j_ + cost_j + clocked_.blocked_w * to_seconds(makespan);
  }

  const ClockedProgram& clocked_;
  const ProgramNetwork& network_;
  ProjectCost cost_;
  double cheapest_j_ = 0;
  double unclocked_j_ = 0;  // part of it
};

double until_deadline_j(const ClockedProgram& clocked, const StragglerPlan& plan, const ExecutedClocks& of) {
  return plan.energy_until_deadline_j(of, clocked.blocked_w);
}

// Returns the simpler plan that needs least energy of those that keep the deadline; the highest clocks always do.
const ExecutedClocks& best_simpler(const ClockedProgram& clocked, const StragglerPlan& plan) {
  const ExecutedClocks* best = &plan.baselines.front().executed;
  for (const Baseline& simpler : plan.baselines) {
    if (simpler.executed.makespan > plan.deadline) continue;
    if (until_deadline_j(clocked, plan, simpler.executed) < until_deadline_j(clocked, plan, *best)) {
      best = &simpler.executed;
    }
  }
  return *best;
}

// Returns the best simpler plan with as much of the late plan in it as keeps the deadline: large parts of the program
// are tried first, and parts that make it late are halved.
ExecutedClocks part_by_part(const ClockedProgram& clocked, const StragglerPlan& plan) {
  constexpr int kTries = 32;
  const ClockAssignment& late = plan.executed.clocks;
  ExecutedClocks kept = best_simpler(clocked, plan);
  std::deque<std::pair<std::size_t, std::size_t>> parts = {{0, late.size()}};
  for (int i = 0; i < kTries && !parts.empty(); ++i) {
    const auto [first, last] = parts.front();
    parts.pop_front();
    ClockAssignment clocks = kept.clocks;
    for (std::size_t task = first; task < last; ++task) clocks[task] = late[task];
    ExecutedClocks tried = execute_clocks(clocked, std::move(clocks));
    if (tried.makespan > plan.deadline) {
      const std::size_t middle = first + (last - first) / 2;
      if (middle > first) parts.insert(parts.end(), {{first, middle}, {middle, last}});
    } else if (until_deadline_j(clocked, plan, tried) < until_deadline_j(clocked, plan, kept)) {
      kept = std::move(tried);
    }
  }
  return kept;
}

// Makes a plan again that misses its deadline. If links are shared, other clocks can make traffic meet that did not
// meet before, so that the engine is later than the plan. Then transfers are taken to last as long as they did in the
// engine.
void keep_deadline(const ClockedProgram& clocked, StragglerPlan& plan) {
  if (plan.executed.makespan <= plan.deadline) return;
  constexpr int kAttempts = 8;
  ClockedProgram expected = clocked;
  for (int attempt = 0; plan.executed.makespan > plan.deadline; ++attempt) {
    if (attempt == kAttempts) {
      plan.executed = part_by_part(clocked, plan);
      return;
    }
    const Timeline timeline = timeline_with(clocked, plan.executed.clocks);
    for (TaskId task = 0; task < expected.lasts.size(); ++task) {
      if (clocked.is_clocked(task)) continue;
      expected.lasts[task] = std::max(expected.lasts[task], timeline.end[task] - timeline.start[task]);
    }
    const ProgramNetwork network = network_of(expected);
    Tracing tracing(expected, network);
    tracing.shorten_to(plan.deadline);
    plan.planned = tracing.makespan();
    plan.planned_energy_j = tracing.energy_j();
    plan.executed = execute_clocks(clocked, tracing.clocks());
  }
}

// Executes a plan's clocks and simpler plans for comparison. Simpler plans choose among the same clocks: a simpler plan
// replaces the plan if it keeps the deadline and needs less energy, because of the cost of rounding to clocks or of
// shared links.
void settle(const ClockedProgram& clocked, StragglerPlan& plan) {
  plan.baselines = baselines(clocked, plan.deadline);
  keep_deadline(clocked, plan);
  const ExecutedClocks& simpler = best_simpler(clocked, plan);
  if (until_deadline_j(clocked, plan, simpler) < until_deadline_j(clocked, plan, plan.executed))
    plan.executed = simpler;
}

}  // namespace

double StragglerPlan::energy_until_deadline_j(const ExecutedClocks& of, double blocked_w) const {
  return of.energy_j + blocked_w * to_seconds(std::max<Picoseconds>(deadline - of.makespan, 0));
}

double StragglerPlan::saving(const ExecutedClocks& of, double blocked_w) const {
  const double highest = energy_until_deadline_j(baselines.front().executed, blocked_w);
  return 1 - energy_until_deadline_j(of, blocked_w) / highest;
}

std::optional<double> Frontier::min_energy_j(double iteration_time_s) const {
  const auto after = std::find_if(points.begin(), points.end(), [&](const FrontierPoint& point) {
    return point.iteration_time_s >= iteration_time_s;
  });
  if (after == points.end()) return points.back().energy_j;
  if (after->iteration_time_s == iteration_time_s) return after->energy_j;
  if (after == points.begin()) return std::nullopt;
  const FrontierPoint& before = *(after - 1);
  const double share =
      (iteration_time_s - before.iteration_time_s) / (after->iteration_time_s - before.iteration_time_s);
  return before.energy_j + share * (after->energy_j - before.energy_j);
}

Frontier frontier(const ClockedProgram& clocked, std::span<const double> slowdowns) {
  const ExecutedClocks highest = execute_clocks(clocked, highest_clocks(clocked));
  Frontier out;
  out.blocked_w = clocked.blocked_w;
  std::vector<double> factors(slowdowns.begin(), slowdowns.end());
  factors.push_back(1);
  std::sort(factors.begin(), factors.end());
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  for (const double factor : factors) {
    StragglerPlan plan;
    plan.slowdown = factor;
    plan.deadline = static_cast<Picoseconds>(std::floor(static_cast<double>(highest.makespan) * factor));
    out.plans.push_back(std::move(plan));
  }

  const ProgramNetwork network = network_of(clocked);
  Tracing tracing(clocked, network);
  for (std::size_t i = out.plans.size(); i-- > 0;) {
    StragglerPlan& plan = out.plans[i];
    // A pipeline that waits for a straggler draws the waiting power until the straggler is done in any case, so slower
    // is better as long as the passes themselves need less. Without a straggler, waiting ends with the iteration.
    tracing.shorten_to(plan.deadline);
    if (plan.slowdown == 1) tracing.shorten_to_least_energy();
    plan.planned = tracing.makespan();
    plan.planned_energy_j = tracing.energy_j();
    plan.executed = execute_clocks(clocked, tracing.clocks());
  }
  tracing.shorten_to(0);
  out.points = tracing.points();
  out.t_min_s = out.points.front().iteration_time_s;
  out.t_star_s = out.points.back().iteration_time_s;
  out.activities = network.activities.size();

  for (StragglerPlan& plan : out.plans) {
    settle(clocked, plan);
  }
  return out;
}

namespace {

// Shortens the iteration to the deadline. `tracing`: of a longer iteration.
ExecutedClocks plan_of(const ClockedProgram& clocked, Tracing& tracing, Picoseconds deadline) {
  tracing.shorten_to(deadline);
  StragglerPlan plan;
  plan.deadline = deadline;
  plan.executed = execute_clocks(clocked, tracing.clocks());
  settle(clocked, plan);
  return plan.executed;
}

}  // namespace

ExecutedClocks plan_for(const ClockedProgram& clocked, Picoseconds deadline) {
  const ProgramNetwork network = network_of(clocked);
  Tracing tracing(clocked, network);
  return plan_of(clocked, tracing, deadline);
}

// The curve is traced from its longest iteration on, and rarely is that of least energy shorter than the deadline.
TwoPlans plans_for(const ClockedProgram& clocked, Picoseconds deadline) {
  const ProgramNetwork network = network_of(clocked);
  Tracing tracing(clocked, network);
  tracing.shorten_to_least_energy();
  TwoPlans out;
  out.least_energy = execute_clocks(clocked, tracing.clocks());
  const bool longer = tracing.makespan() >= deadline;
  out.for_deadline = longer ? plan_of(clocked, tracing, deadline) : plan_for(clocked, deadline);
  return out;
}

ExecutedClocks min_energy_plan(const ClockedProgram& clocked) {
  const ProgramNetwork network = network_of(clocked);
  Tracing tracing(clocked, network);
  tracing.shorten_to_least_energy();
  return execute_clocks(clocked, tracing.clocks());
}

}  // namespace mirfak
