#pragma once

#include "launch/launch_targets.hpp"
#include "launch/megatron_options.hpp"
#include "program/job.hpp"

namespace mirfak {

// Add the arguments that follow from several keys of the model, and of precision, optimizer, CUDA graphs and kernels.
void add_megatron_model(LaunchOptions& out, const Job& job, const MegatronStyle& style);
void add_megatron_training(LaunchOptions& out, const Job& job, const MegatronStyle& style);

}  // namespace mirfak
