#include "simulation/fullest_reserve.hpp"

#include "program/reserved_memory.hpp"

namespace mirfak {

std::optional<ReservedMemory> reserve_of_fullest(const Simulation& simulation) {
  const std::size_t place = simulation.result.fullest_plan;
  const StageMemory& memory = simulation.result.stages[place].memory;
  if (memory.allocator) return memory.allocator;
  return reserve_of(simulation.job, simulation.blocks, simulation.plans[place], memory);
}

}  // namespace mirfak
