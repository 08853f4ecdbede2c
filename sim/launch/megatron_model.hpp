#pragma once

#include "launch/launch_targets.hpp"
#include "program/job.hpp"

namespace mirfak {

// Megatron-LM's arguments for the model's sizes, and for precision, optimizer and CUDA graphs. Error(infeasible) for
// what it has no argument for.
void add_megatron_model(ArgumentLines& out, const Job& job);
void add_megatron_training(ArgumentLines& out, const Job& job);

}  // namespace mirfak
