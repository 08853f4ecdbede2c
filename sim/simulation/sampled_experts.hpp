#pragma once

#include "engine/sampled_program.hpp"
#include "program/job.hpp"
#include "program/lowering.hpp"
#include "program/stage_plan.hpp"

#include <span>

namespace mirfak {

// The program that samples put other durations into: that of a single iteration with all ranks, so that samples without
// factors are it. Only where passes would be cut for ports alone, which transfers or gradients use beside them, into
// more tasks than a sample executes in some ten seconds, do they stay whole; that is about a percent of an iteration.
LoweringOptions sampled_lowering(const Job& job, std::span<const StagePlan> plans);

// What drawn popularity of experts does to a job's program, lowered so. Nothing unless
// cluster.perturbations draws it. `blocks` and `plans` belong to `job`.
SampledExperts sampled_experts(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans);

}  // namespace mirfak
