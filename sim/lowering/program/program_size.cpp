#include "program/program_size.hpp"

#include "base/error.hpp"
#include "program/condensed_body.hpp"
#include "program/data_parallel.hpp"
#include "program/replica_kinds.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

// Number of tasks of a body that is written step by step: the host issues each step.
double tasks_of(const Body& body, const LoweringOptions& options) {
  const std::size_t steps = options.operators ? body.steps.size() : condensed(body).body.steps.size();
  return 2 * static_cast<double>(steps);
}

// Counts the ranks of a program that run a plan.
double ranks_of(const StagePlan& plan, const LoweringOptions& options) {
  if (options.unfolded) return plan.ranks;
  const double of_team = options.whole_teams ? plan.ranks / plan.replicas.count() : 1;
  return of_team * static_cast<double>(kinds_within(plan, options.kind_of_replica).size());
}

}  // namespace

double expected_tasks(const Job& job, std::span<const StagePlan> stages, const LoweringOptions& options) {
  constexpr double tasks_per_piece = 5;  // a pass, or a part of one with its collectives
  const bool gathers = data_parallel_plan(job).gathers_in_passes();
  double tasks = 0;
  for (const StagePlan& plan : stages) {
    double steps = 0;
    double of_cut = 0;
    for (const ChunkPlan& chunk : plan.chunks) {
      steps += 2 * tasks_per_piece * (gathers ? 2 * chunk.blocks() : 1);
      for (const BlockRun& run : chunk.runs) {
        const BlockBodies& block = plan.bodies_of(run.block);
        if (!options.whole_passes())
          (options.steps_where_cut ? of_cut : steps) +=
              run.count * (tasks_of(block.forward, options) + tasks_of(block.backward, options));
      }
    }
    tasks += (steps * plan.replicas.microbatches + of_cut) * ranks_of(plan, options);
  }
  return tasks;
}

void check_program_size(const Job& job, std::span<const StagePlan> stages, const LoweringOptions& options) {
  const double tasks = expected_tasks(job, stages, options);
  if (tasks <= kMaxTasks) return;
  fail_infeasible({}, fmt::format("the iteration would be about {:.2g} tasks, more than {:.2g}", tasks, kMaxTasks),
                  options.operators ? "simulate it folded, or at --detail passes" : "simulate it folded");
}

}  // namespace mirfak
