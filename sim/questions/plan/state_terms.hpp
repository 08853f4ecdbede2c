#pragma once

#include "plan/state_choice.hpp"
#include "program/data_parallel.hpp"
#include "program/stage_plan.hpp"

#include <span>
#include <tuple>
#include <vector>

namespace mirfak {

// Bytes that a stage holds between iterations, and the time and energy of its replicas' work after the passes.
struct StateTerms {
  double resident = 0;
  double step_workspace = 0;
  double host = 0;         // bytes in the host's memory
  Picoseconds reduce = 0;  // all gradients, once
  Picoseconds norms = 0;
  Picoseconds optimizer = 0;
  Picoseconds gather = 0;  // all parameters, once
};

// Returns the terms of a stage with these chunks. `job`: a job with the state, as the stage sees it.
StateTerms state_terms(const Job& job, const ShardedBlocks& blocks, int stage, const std::vector<ChunkPlan>& chunks,
                       const StageCosts& costs);

// All of a state choice that the terms and the memory of a pipeline depend on: the stage of ZeRO, the share of the
// optimizer on the host, and if the time at which gradients are reduced decides what the host holds.
using HeldBy = std::tuple<int, double, bool>;
HeldBy held_by(const StateChoice& choice);

// Returns numbers that are equal for stages with equal terms, if the stages' hardware, links and shapes are equal.
// `kept_of`: for each block, the block whose parameters the block has.
std::vector<int> state_key(const ShardedBlocks& blocks, std::span<const BlockId> kept_of,
                           const std::vector<ChunkPlan>& chunks, const StateChoice& choice);

// Returns the time that the collectives of a stage's replicas take one after the other.
Picoseconds time_of(const std::vector<ReplicaCollective>& collectives, const StageCosts& costs);

}  // namespace mirfak
