#pragma once

#include "cost/expert_exchange.hpp"
#include "model/block_kernels.hpp"
#include "program/job.hpp"

namespace mirfak {

// Returns how the job's tokens travel to experts and back.
ExpertExchange exchange_of(const Job& job);

// Returns the kernels that the job's framework runs beyond what the mathematics of a block asks for.
BlockKernels block_kernels(const Job& job);

// Returns the chunks of head and loss; `rows` are left to the graph. Where the framework chooses them by width, a chunk
// has the rows whose logits are as many as the activations of all rows, rounded up to a power of two (Liger:
// ops/fused_linear_cross_entropy.py).
RowChunks loss_chunks(const Job& job);

}  // namespace mirfak
