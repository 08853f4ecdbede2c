#include "plan/planned_energy.hpp"

#include "energy/clock_plan.hpp"
#include "energy/frontier.hpp"
#include "energy/scenario_clocks.hpp"
#include "program/replica_classes.hpp"

namespace mirfak {

std::optional<PlannedEnergy> planned_energy(const FoundStrategy& found) {
  if (replica_classes(found.job).size() > 1) return std::nullopt;
  const ClockedProgram clocked = clocked_program(found.job);
  const ExecutedClocks highest = execute_clocks(clocked, highest_clocks(clocked));
  PlannedEnergy out;
  const TwoPlans plans = plans_for(clocked, highest.makespan);
  out.energy_j = plans.for_deadline.energy_j;
  out.t_star_s = to_seconds(plans.least_energy.makespan);
  out.min_energy_j = plans.least_energy.energy_j;
  return out;
}

}  // namespace mirfak
