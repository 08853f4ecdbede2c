#pragma once

#include "engine/sampled_program.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

#include <span>

namespace mirfak {

// What drawn popularity of experts does to a job's program: unfolded, passes as tasks. Nothing unless
// cluster.perturbations draws it. `blocks` and `plans` belong to `job`.
SampledExperts sampled_experts(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans);

}  // namespace mirfak
