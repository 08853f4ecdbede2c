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

// Returns the chunks of head and loss; `rows` are left to the graph. Where the framework chooses them by width, a chunk
// has the rows whose logits are as many as the activations of all rows, rounded up to a power of two (Liger:
// ops/fused_linear_cross_entropy.py).
RowChunks loss_chunks(const Job& job);

}  // namespace mirfak
