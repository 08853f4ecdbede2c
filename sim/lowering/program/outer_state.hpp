#pragma once

#include "program/job.hpp"
#include "program/stage_plan.hpp"

#include <span>

namespace mirfak {

// Returns the bytes of one rank's state of the outer optimizer (LocalSteps): the parameters as the learners last joined
// them, and the momentum, both in fp32 and divided as the rank's parameters are. 0 where learners exchange gradients.
double outer_state_bytes(const Job& job, const StageParameters& parameters);

// Returns the bytes that one learner's parameters, or gradients, are sent as in one exchange of all of them. `plans`:
// all of the job's. Each parameter is sent once, whatever number of the learner's ranks holds it.
double exchanged_bytes(const Job& job, std::span<const StagePlan> plans);

}  // namespace mirfak
