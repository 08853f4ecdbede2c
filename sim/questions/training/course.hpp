#pragma once

#include "program/job.hpp"
#include "simulation/iteration.hpp"
#include "training/operations.hpp"

#include <cstdint>
#include <span>

namespace mirfak {

// Returns the course of a job's training. `phases`: results of an iteration of each step of the ramp, then of the full
// batch, then of the full batch in the precision of the last iterations, if those have one of their own.
// Error(infeasible) at the place of the fault: no length, a checkpoint that takes longer than its interval, failures so
// frequent that next to no progress lasts.
TrainingCourse training_course(const Job& job, const Operations& operations, std::span<const IterationResult> phases);

// Returns the number of iterations of the full batch, after a ramp, that `operations` or training.tokens state;
// gpu_hours is not considered. Error(infeasible): the length of the training is not stated.
std::int64_t stated_iterations(const Job& job, const Operations& operations);

// Returns a job's checkpoints, those in memory first, those in storage last (an empty tier if there are none); their
// intervals are not set yet.
std::vector<CheckpointTier> checkpoint_tiers(const Job& job, const Operations& operations);

// Returns the job with the batch of a step of the ramp. Error(infeasible) at the step if the strategy cannot run it.
Job job_of_step(Job job, const RampStep& step);

// Returns the job in the precision of the last iterations. Error(infeasible) at their place if the hardware or the
// strategy cannot run it.
Job job_of_last(Job job, const LastIterations& last);

// Returns the bytes of a checkpoint of the whole job: parameters as they are trained, and the optimizer's state
// (Adam's of all parameters; for other optimizers, and where adapters train, the scenario must state the bytes).
double checkpoint_bytes(const Job& job, const CheckpointPlan& plan);

// Returns energy as model cards state it, in joules: GPU hours times the power that a GPU is specified for.
double nameplate_energy_j(const Job& job, const Operations& operations, double gpu_seconds);

}  // namespace mirfak
