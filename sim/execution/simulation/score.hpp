#pragma once

#include "program/block_memory.hpp"
#include "program/body_cache.hpp"
#include "program/job.hpp"
#include "program/memory.hpp"
#include "program/program.hpp"
#include "program/reserved_memory.hpp"
#include "program/stage_plan.hpp"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace mirfak {

struct IterationResult;

// Figures of an iteration that a search needs: equal to those of simulate(), to the last bit.
struct IterationScore {
  Picoseconds time = 0;
  double energy_j = 0;  // energy of all GPUs
  // Room that is left: for orders that depend on times, and beside free pieces of memory (add_reserves()) where a limit
  // is one of probability; a search knows that of others beforehand.
  MemoryRoom room;
  bool executed = false;  // false: a bound, which ignores that tasks share links
};

// Memory that the stages of an iteration may use, and what is known of the memory of its blocks.
struct MemoryAsked {
  MemoryLimit limit = {};
  std::span<const BlockMemory> of_blocks = {};  // memory_of_blocks(job, blocks)
  KnownReplays* replays = nullptr;              // of these blocks; null: none
};

// Plans, lowers and executes an iteration whose blocks and bodies are known. If tasks share links, the max-plus sweep
// runs first, with whole passes. The sweep ignores sharing, so the iteration is no shorter than its result. `hopeless`
// returns true if an iteration of at least this score is of no interest; then nullopt is returned or, of one that was
// executed all the same, a score whose energy may be rounded otherwise than that of simulate().
std::optional<IterationScore> score_iteration(const Job& job, const ShardedBlocks& blocks, BodyCache& bodies,
                                              const std::function<bool(const IterationScore&)>& hopeless,
                                              const MemoryAsked& memory);

// Returns the room that a simulated iteration leaves in the memory of its stages.
MemoryRoom room_of(const IterationResult& result, const MemoryLimit& limit);

// Returns the energy of all GPUs in an iteration of this time: each GPU draws its blocked power throughout, and in
// addition the power that its tasks draw above it (arXiv 2312.06902, eq. 3).
double energy_of_iteration(std::span<const StagePlan> plans, const Program& program, double iteration_time_s);
// Returns the energy of the GPUs of each plan in an iteration of this time.
std::vector<double> energy_of_plans(std::span<const StagePlan> plans, const Program& program, double iteration_time_s);

}  // namespace mirfak
