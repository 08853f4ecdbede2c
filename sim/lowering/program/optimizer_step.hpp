#pragma once

#include "program/body.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

namespace mirfak {

// Bytes of state that the optimizer keeps per parameter, and bytes that one step moves through memory per parameter, in
// the job's precision, averaged over a stage's parameters: Muon keeps less for a layer's matrices than for the other
// parameters. If FSDP's master copy is the parameter, it counts as parameter (memory.hpp), not here.
double optimizer_bytes(const Job& job, const StageParameters& parameters);
// True if the optimizer of a framework holds a copy of 16-bit parameters in fp32, beside Adam's two moments; else the
// parameters themselves are stepped, by gradients as they are.
bool has_master_copy(const Framework& framework);
double optimizer_traffic_bytes(const Job& job, const StageParameters& parameters);

// Seconds that the host of a stage with these parameters works between the last gradient and the first kernel of the
// next iteration, including stalls of any of the job's hosts: HostHabits::step_s, step_tensor_s, step_piece_s and
// stall_s. Devices wait for the host.
double host_step_seconds(const Job& job, const StageParameters& parameters);

// One rank's update of its parameters, on the device and on the host: the offloaded share (optimizer_offload.hpp) runs
// in parallel with the rest.
FoldedBody step_body(const Job& job, const StageParameters& parameters, const StageCosts& costs);

// Muon's iterations on the matrices of a rank's layers; empty for other optimizers. ZeRO 1 divides whole matrices over
// the ranks that share the state.
FoldedBody orthogonalization_body(const Job& job, const StagePlan& plan);

// Work on all matrices of a stage whose gradients are projected, and its body; nothing where none are.
LowRankStep low_rank_step(const StagePlan& plan);
FoldedBody low_rank_body(const StagePlan& plan);

// Kernels that a rank's blocks run on the new parameters, once an iteration, after the optimizer step.
FoldedBody update_body(const StagePlan& plan);

// One rank's optimizer step and the kernels that follow it once an iteration: unscaling, gradient norm, update,
// low-precision copies, all bound by memory; no step for Optimizer::none. The host works for host_step_seconds().
FoldedBody optimizer_body(const Job& job, const StagePlan& plan);

}  // namespace mirfak
