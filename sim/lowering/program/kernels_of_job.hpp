#pragma once

#include "cluster/hardware.hpp"
#include "cost/expert_exchange.hpp"
#include "cost/kernel_surroundings.hpp"
#include "model/block_kernels.hpp"
#include "program/job.hpp"

#include <memory>

namespace mirfak {

// Returns how the job's tokens travel to experts and back.
ExpertExchange exchange_of(const Job& job);

// Returns the kernels that the job's framework runs beyond what the mathematics of a block asks for.
BlockKernels block_kernels(const Job& job);

// Returns the work that the job's framework adds to kernels on a GPU; nullptr: none.
std::shared_ptr<const KernelSurroundings> kernel_surroundings(const Job& job, const GpuSpec& gpu);

}  // namespace mirfak
