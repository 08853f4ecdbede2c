#pragma once

#include "simulation/iteration.hpp"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace mirfak {

// Figures that grow with every microbatch of an iteration.
struct IterationSums {
  Picoseconds time = 0;
  std::vector<ActivitySeconds> activities;  // one for each plan
  double energy_j = 0;
  std::vector<double> energy_of_plans;
  std::uint64_t events = 0;
};

// Returns the sums of an iteration of so many equal microbatches that its program would be large. Shorter iterations
// are executed and shown to repeat themselves, and the sums of the whole iteration follow from theirs, exact in time.
// `simulation` is left with its own plans, and with the program and timeline of a shorter iteration. nullopt: the
// iteration is to be executed whole, because it is small or does not repeat itself. `sums`: returns the sums of the
// iteration that `simulation` has executed.
std::optional<IterationSums> sums_of_long_iteration(Simulation& simulation, const LoweringOptions& options,
                                                    Executor executor, const std::function<IterationSums()>& sums);

// True if an iteration of `job` is long enough to be executed in part.
bool is_long_iteration(const Job& job);

// True if the simulation's program and timeline have fewer microbatches than its job, or only documents of one length.
bool is_executed_in_part(const Simulation& simulation);
// Fails with Error(infeasible) if is_executed_in_part(): `what`, such as "a timeline", shows every task.
void require_whole(const Simulation& simulation, std::string_view what);

}  // namespace mirfak
