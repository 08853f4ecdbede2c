#pragma once

#include "program/job.hpp"
#include "simulation/iteration.hpp"
#include "training/operations.hpp"

#include <cstdint>
#include <span>

namespace mirfak {

// How the training of a job goes. `phases`: the iterations of each step of the ramp, then of the full batch.
// Error(infeasible) at the place of the fault: no length, a checkpoint that takes longer than its interval, failures so
// frequent that next to nothing lasts.
TrainingCourse training_course(const Job& job, const Operations& operations, std::span<const IterationResult> phases);

// Iterations of the full batch, after a ramp, as `operations` or training.tokens say; gpu_hours aside.
// Error(infeasible): nothing says how long the training is.
std::int64_t stated_iterations(const Job& job, const Operations& operations);

// A job's checkpoints, those in memory first, those in storage last (without any, an empty one); their intervals are
// left open.
std::vector<CheckpointTier> checkpoint_tiers(const Job& job, const Operations& operations);

// The job with the batch of a step of the ramp. Error(infeasible) at the step where the strategy cannot run it.
Job job_of_step(Job job, const RampStep& step);

// Bytes that a checkpoint of the whole job holds: parameters as they are trained, and the optimizer's state (Adam's; of
// others the scenario must say it).
double checkpoint_bytes(const Job& job, const CheckpointPlan& plan);

// Energy as model cards state it: GPU hours times the power that a GPU is specified for. Joules.
double nameplate_energy_j(const Job& job, const Operations& operations, double gpu_seconds);

}  // namespace mirfak
