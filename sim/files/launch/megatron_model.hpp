#pragma once

#include "launch/launch_targets.hpp"
#include "launch/megatron_options.hpp"
#include "program/job.hpp"

namespace mirfak {

// Add Megatron-LM's arguments for the model's sizes, and for precision, optimizer and CUDA graphs. Error(infeasible)
// for a job that Megatron-LM has no argument for.
void add_megatron_model(LaunchOptions& out, const Job& job, const MegatronStyle& style);
void add_megatron_training(LaunchOptions& out, const Job& job, const MegatronStyle& style);

}  // namespace mirfak
