#pragma once

#include "engine/sampled_program.hpp"
#include "program/job.hpp"
#include "program/lowering.hpp"
#include "program/stage_plan.hpp"

#include <span>

namespace mirfak {

// The program that samples put other durations into: all ranks, passes as tasks; cut at what they exchange where links
// between switches may be short of that. That ports are shared with others alone would cost a sample some hundred times
// as much, for about a percent of an iteration.
LoweringOptions sampled_lowering(const Job& job, std::span<const StagePlan> plans);

// What drawn popularity of experts does to a job's program, lowered so. Nothing unless
// cluster.perturbations draws it. `blocks` and `plans` belong to `job`.
SampledExperts sampled_experts(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans);

}  // namespace mirfak
