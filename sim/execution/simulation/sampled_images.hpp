#pragma once

#include "engine/sampled_program.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

#include <span>

namespace mirfak {

// True if iterations of a job differ: cluster.perturbations has distributions, or sequences different numbers of
// images.
bool is_drawn(const Job& job);

// Returns the effect of drawn numbers of images on a job's program, lowered with sampled_lowering(). Empty unless
// training.images draws them. `plans` belong to `job`.
SampledImages sampled_images(const Job& job, std::span<const StagePlan> plans);

}  // namespace mirfak
