#include "program/program_size.hpp"

#include "base/error.hpp"
#include "program/data_parallel.hpp"

#include <fmt/format.h>

namespace mirfak {

void check_program_size(const Job& job, std::span<const StagePlan> stages, const LoweringOptions& options) {
  constexpr double tasks_per_piece = 5;  // a pass, or a part of one with its collectives
  const bool gathers = data_parallel_plan(job).gathers_in_passes();
  double tasks = 0;
  for (const StagePlan& plan : stages) {
    double steps = 0;
    for (const ChunkPlan& chunk : plan.chunks) {
      steps += 2 * tasks_per_piece * (gathers ? 2 * chunk.blocks() : 1);
      for (const BlockRun& run : chunk.runs) {
        const BlockBodies& block = plan.bodies_of(run.block);
        const std::size_t kernels = block.forward.steps.size() + block.backward.steps.size();
        if (!options.whole_passes()) steps += 2.0 * run.count * static_cast<double>(kernels);
      }
    }
    tasks += steps * plan.replicas.microbatches * (options.unfolded ? plan.ranks : 1);
  }
  if (tasks <= kMaxTasks) return;
  fail_infeasible({}, fmt::format("the iteration would be about {:.2g} tasks, more than {:.2g}", tasks, kMaxTasks),
                  "simulate it folded, or at --detail passes");
}

}  // namespace mirfak
