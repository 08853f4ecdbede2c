#pragma once

#include "engine/sampled_program.hpp"
#include "program/job.hpp"
#include "program/lowering.hpp"
#include "program/stage_plan.hpp"

#include <span>

namespace mirfak {

// Returns the options of the program that samples put other durations into: a single iteration with all ranks, so that
// a sample without factors is that iteration. Passes stay whole only if they would be cut solely for ports that
// transfers or gradients use at the same time, and if the cut passes would have more tasks than a sample executes in
// some ten seconds; this changes an iteration by about a percent.
LoweringOptions sampled_lowering(const Job& job, std::span<const StagePlan> plans);

// Returns the durations of the tasks of a job that differs from another in how much its tasks have to do, in the order
// of passes of the other job's plans, lowered with sampled_lowering().
std::vector<Picoseconds> sampled_durations(const Job& job, std::span<const StagePlan> ordered);

// Returns the effect of drawn popularity of experts on a job's program, lowered with sampled_lowering(). Empty unless
// cluster.perturbations draws it. `blocks` and `plans` belong to `job`.
SampledExperts sampled_experts(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans);

}  // namespace mirfak
