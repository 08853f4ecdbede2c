#pragma once

#include "program/block_memory.hpp"
#include "program/body_cache.hpp"
#include "program/job.hpp"
#include "program/memory.hpp"
#include "program/program.hpp"
#include "program/stage_plan.hpp"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// What a search asks of an iteration: the same figures as simulate() has, to the last bit.
struct IterationScore {
  Picoseconds time = 0;
  double energy_j = 0;  // of all GPUs
  MemoryRoom room;      // of schedules that say their order beforehand a search knows it already: all of it
};

// Plans, lowers and executes an iteration whose blocks and bodies are known. Where tasks share links, the max-plus
// sweep runs first, of whole passes. It ignores sharing, so the iteration is no shorter than it says. `hopeless` says
// whether an iteration of at least this score is of no interest; then nothing is returned. `of_blocks`:
// memory_of_blocks(job, blocks); `headroom`: the share of memory to keep free.
std::optional<IterationScore> score_iteration(const Job& job, const ShardedBlocks& blocks, BodyCache& bodies,
                                              const std::function<bool(const IterationScore&)>& hopeless,
                                              std::span<const BlockMemory> of_blocks, double headroom = 0);

// All GPUs in an iteration that takes so long: each draws its blocked power throughout, and what its tasks draw above
// it (arXiv 2312.06902, eq. 3).
double energy_of_iteration(std::span<const StagePlan> plans, const Program& program, double iteration_time_s);
// The same by plan: of the GPUs of each.
std::vector<double> energy_of_plans(std::span<const StagePlan> plans, const Program& program, double iteration_time_s);

}  // namespace mirfak
