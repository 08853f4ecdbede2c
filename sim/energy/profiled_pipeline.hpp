#pragma once

#include "energy/clocked_program.hpp"
#include "energy/stage_profile.hpp"
#include "schedule/schedule.hpp"

namespace mirfak {

// A pipeline whose passes take what a profile says, and in which nothing else takes time: stages hand over at once.
// One rank per stage. A profile of as many stages as the pipeline has describes whole stages, whose chunks share time
// and energy equally; one of stages x chunks describes chunks, in the order in which a microbatch goes through them.
//
// `blocked_w`: what one GPU draws while it waits. Error(input) if the profile has another number of stages;
// Error(infeasible) if the schedule cannot run.
ClockedProgram profiled_pipeline(const StageProfile& profile, const PipelineShape& shape, ScheduleId schedule,
                                 double blocked_w);

}  // namespace mirfak
