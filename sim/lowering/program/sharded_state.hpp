#pragma once

#include "program/memory.hpp"

namespace mirfak {

// Parameters, gradients and optimizer state that one rank of a stage holds, and what the rank holds whole for a while.
// N ranks share a copy of P parameters, with low-precision bytes w, gradient bytes g and optimizer bytes o:
//   stage 0   (w + g + o) P              stage 2   (w + (g + o)/N) P and a bucket of gradients
//   stage 1   (w + g + o/N) P            stage 3   (w + g + o)/N P, and the parameters in flight
// (arXiv 1910.02054, figure 1: w = g = 2, o = 12). FSDP shards the fp32 master copy and fp32 gradients: (4 + 4 + 8)/N
// P, the same 16 bytes. The device does not hold an offloaded share of o. For frameworks that gather block by block,
// tensors that are whole for a while count elsewhere (unit_memory.hpp), unless all parameters stay whole. The other
// members of the result are 0.
MemoryUse sharded_state(const Job& job, const StageContents& stage);

// Bytes of the gradients of some parameters, as they are held between passes.
double held_gradients(const Job& job, const HeldParameters& held);

// Bytes that exist only during the optimizer step: if gradients are kept in less than fp32, an fp32 copy of those that
// the rank updates. Megatron-LM: megatron/optimizer/optimizer.py, `main_param.grad = model_param.main_grad.float()`,
// freed by zero_grad. Optimizers whose masters are the parameters themselves have no such copy. If the copies of
// gradients that replicas reduce after all passes (`memory.reduced_copy_bytes`) have more bytes, theirs count.
double step_workspace(const Job& job, const StageContents& stage);

}  // namespace mirfak
