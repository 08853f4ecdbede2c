#include "simulation/fullest_reserve.hpp"

namespace mirfak {

std::optional<ReservedMemory> reserve_of_fullest(const Simulation& simulation) {
  const std::size_t place = simulation.result.fullest_plan;
  const StagePlan& fullest = simulation.plans[place];
  auto out = reserved_memory(job_at(simulation.job, simulation.blocks, fullest.stage),
                             simulation.blocks.at(fullest.stage), fullest);
  if (!out) return out;
  const MemoryUse& peak = simulation.result.stages[place].memory.peak;
  const double cached = out->cached();
  out->allocated = peak.total() - peak.platform + simulation.job.framework.memory.workspace_bytes;
  out->reserved = out->allocated + cached;
  return out;
}

}  // namespace mirfak
