#pragma once

#include "program/memory.hpp"

namespace mirfak {

// Parameters, gradients and optimizer state that one rank of a stage holds, and what it holds whole for a while: with
// N ranks sharing a copy of P parameters, in low-precision bytes w, gradient bytes g and optimizer bytes o,
//   stage 0   (w + g + o) P              stage 2   (w + (g + o)/N) P and a bucket of gradients
//   stage 1   (w + g + o/N) P            stage 3   (w + g + o)/N P, and the parameters in flight
// (arXiv 1910.02054, figure 1: w = g = 2, o = 12). FSDP's shards are the fp32 master copy and fp32 gradients:
// (4 + 4 + 8)/N P, the same 16 bytes. An offloaded share of o is not the device's. Of frameworks that gather block by
// block, what is whole for a while is not here, unless it is all (unit_memory.hpp). The other members of the result are
// 0.
MemoryUse sharded_state(const Job& job, const StageContents& stage);

// ... of these the gradients of some parameters, as they lie between passes.
double held_gradients(const Job& job, const HeldParameters& held);

// What exists during the optimizer step only: where gradients are kept in less than fp32, a copy in fp32 of those that
// the rank updates. Megatron-LM: megatron/optimizer/optimizer.py, `main_param.grad = model_param.main_grad.float()`,
// freed by zero_grad. Optimizers whose masters are the parameters themselves have none.
double step_workspace(const Job& job, const StageContents& stage);

}  // namespace mirfak
