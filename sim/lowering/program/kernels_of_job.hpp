#pragma once

#include "cost/expert_exchange.hpp"
#include "model/block_kernels.hpp"
#include "program/job.hpp"

namespace mirfak {

// Returns how the job's tokens travel to experts and back.
ExpertExchange exchange_of(const Job& job);

// Returns the kernels that the job's framework runs beyond what the mathematics of a block asks for.
BlockKernels block_kernels(const Job& job);

}  // namespace mirfak
