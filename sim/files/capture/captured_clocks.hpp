#pragma once

#include "capture/capture_simulation.hpp"
#include "capture/captured_passes.hpp"
#include "energy/clocked_program.hpp"

#include <vector>

namespace mirfak {

// A captured step whose passes can run at any clock that their GPUs can be set to.
struct CapturedClocks {
  CaptureSimulation simulated;  // at the highest clocks
  PassProgram passes;
  ClockedProgram clocked;
  std::vector<double> full_clock_hz;     // by rank: the highest clock of its GPU
  std::vector<double> highest_clock_hz;  // by rank: the highest clock that is planned with
};

// Prices each pass of a capture at each clock: the whole step is executed with all GPUs at that clock. What happens
// between passes takes as long as at the highest clocks. At the highest clocks the step takes the time and energy of
// simulate(). Errors as of simulate() and pass_program(); Error(infeasible) at cluster.perturbations.
CapturedClocks captured_clocks(const CapturedScenario& scenario, const CaptureSources& sources);

// Returns the highest clock of each kernel of the step when its passes run at these clocks, and everything else at the
// highest.
KernelLimits kernel_limits_of(const CapturedClocks& clocks, const ClockAssignment& assigned);

}  // namespace mirfak
