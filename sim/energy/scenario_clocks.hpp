#pragma once

#include "energy/clocked_program.hpp"
#include "program/job.hpp"

namespace mirfak {

// One iteration of a job, whose passes can run at any clock that their GPUs can be set to, from the highest (that of
// cluster.nodes[].clock_mhz, where it is set) down to 0.4 of the GPU's, in steps so that there are at most 64: each
// time and energy is that of the job priced and lowered with all devices at that clock (KernelModel: parts that compute
// stretch with it, memory and communication do not). One rank per stage, which stands for all that behave like it.
// Devices of several types are set to the same place in their list of clocks while prices are taken; their choices are
// independent.
//
// At the highest clock this is the program that simulate() executes. Errors as of simulate(), and
// Error(infeasible) where a stage has replicas of several classes (program/replica_classes.hpp).
ClockedProgram clocked_program(const Job& job);

}  // namespace mirfak
