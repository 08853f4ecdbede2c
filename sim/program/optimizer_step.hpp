#pragma once

#include "program/body.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

namespace mirfak {

// Bytes of state that the optimizer keeps per parameter, and bytes that one step moves through memory per parameter, in
// the job's precision, on average over a stage's: Muon keeps less of a layer's matrices than of the rest. With FSDP's
// habit the master copy counts as parameter (memory.hpp), not here.
double optimizer_bytes(const Job& job, const StageParameters& parameters);
double optimizer_traffic_bytes(const Job& job, const StageParameters& parameters);

// What the host of a stage that holds so much does between the last gradient and the first kernel of the next
// iteration, stalls of any of the job's hosts included: HostHabits::step_s, step_tensor_s, step_piece_s and stall_s.
// Devices wait for it.
double host_step_seconds(const Job& job, const StageParameters& parameters);

// One rank's update of parameters that it holds so, on the device and on the host: what is offloaded
// (optimizer_offload.hpp) runs beside the rest.
FoldedBody step_body(const Job& job, const StageParameters& parameters, const StageCosts& costs);

// Muon's iterations on the matrices of a rank's layers; nothing under other optimizers. ZeRO 1 divides whole matrices
// over the ranks that share the state.
FoldedBody orthogonalization_body(const Job& job, const StagePlan& plan);

// Once an iteration behind the optimizer step: what a rank's blocks make of the new parameters.
FoldedBody update_body(const StagePlan& plan);

// One rank's optimizer step and what follows it once an iteration: unscaling, gradient norm, update, low-precision
// copies, all bound by memory; no step for Optimizer::none. On the host, host_step_seconds.
FoldedBody optimizer_body(const Job& job, const StagePlan& plan);

}  // namespace mirfak
