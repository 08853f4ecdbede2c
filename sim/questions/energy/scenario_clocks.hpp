#pragma once

#include "energy/clocked_program.hpp"
#include "energy/part_clocks.hpp"
#include "program/job.hpp"

#include <optional>
#include <vector>

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
//
// `units`: what else may be chosen for each pass. Plans of parts, and other ways to run a pass, join the choices of
// whole passes at one clock, so no frontier needs more energy than without them. Passes that are cut by collectives of
// replicas or of shared links have one clock each, and ways in which the host decides the time of a pass are left out:
// notes say so (ClockedProgram::left_out).
struct ClockUnits {
  // Time of a change of clock between two parts of a pass; nothing: a pass has one clock.
  std::optional<Picoseconds> change = {};
  PartCut cut = PartCut::collectives;  // of the parts
  // In passes of two parts of a microbatch, collectives may start later than their data are there.
  bool launches = false;
  // Ways to run each pass besides the job's own: parts of a microbatch, multiprocessors of collectives.
  struct Way {
    int nanobatches = 1;
    int communication_sms = 0;
  };
  std::vector<Way> ways = {};
  // Parts of a pass may have multiprocessors for their collectives of their own, of those in `ways`; with `change`.
  bool channels_of_parts = false;

  bool passes_alone() const { return !change && !launches && ways.empty(); }
};
ClockedProgram clocked_program(const Job& job, const ClockUnits& units = {});

}  // namespace mirfak
