#pragma once

#include "program/body.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

namespace mirfak {

// Bytes of state that the optimizer keeps per parameter, and bytes that one step moves through memory per parameter, in
// the job's precision. With FSDP's habit the master copy counts as parameter (memory.hpp), not here.
double optimizer_bytes(const Job& job);
double optimizer_traffic_bytes(const Job& job);

// One rank's optimizer step: unscaling, gradient norm, update, low-precision copies, all bound by memory. On the host,
// Framework::host_step_s. Empty for Optimizer::none.
FoldedBody optimizer_body(const Job& job, const StagePlan& plan);

}  // namespace mirfak
