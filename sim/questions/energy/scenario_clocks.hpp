#pragma once

#include "energy/clocked_program.hpp"
#include "program/job.hpp"

namespace mirfak {

// Returns one iteration of a job, whose passes can run at any clock that their GPUs can be set to, from the highest
// (that of cluster.nodes[].clock_mhz, if set) down to 0.4 of the GPU's highest, in steps that give at most 64 clocks.
// Each time and energy is that of the job priced and lowered with all devices at that clock (KernelModel: parts that
// compute stretch with the clock, memory and communication do not). There is one rank per stage, which stands for all
// ranks that behave like it. Devices of several types are set to the same place in their lists of clocks while prices
// are taken; their choices are independent.
//
// At the highest clock this is the program that simulate() executes. Errors as of simulate(), and Error(infeasible) if
// a stage has replicas of several classes (program/replica_classes.hpp).
ClockedProgram clocked_program(const Job& job);

}  // namespace mirfak
