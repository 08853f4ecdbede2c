#pragma once

#include "energy/clocked_program.hpp"
#include "energy/stage_profile.hpp"
#include "schedule/schedule.hpp"

namespace mirfak {

// Builds a pipeline whose passes take the time and energy of a profile, and in which nothing else takes time: stages
// hand over at once. There is one rank per stage. A profile of as many stages as the pipeline has describes whole
// stages, whose chunks share time and energy equally; a profile of stages x chunks describes chunks, in the order in
// which a microbatch goes through them.
//
// `blocked_w`: power of one GPU while it waits. Error(input) if the profile has another number of stages;
// Error(infeasible) if the schedule cannot run.
ClockedProgram profiled_pipeline(const StageProfile& profile, const PipelineShape& shape, ScheduleId schedule,
                                 double blocked_w);

}  // namespace mirfak
