#pragma once

#include "capture/capture_simulation.hpp"
#include "trace/power_report.hpp"

namespace mirfak {

// Returns the power of a captured step over time, as power_report() returns that of an iteration: power of kernels at
// the clocks that GPUs hold, of waiting GPUs, of hosts and network. Captured ranks also stand for ranks that did the
// same and for ranks that the capture lacks, so that the mean power of all GPUs times the step's length is
// CaptureResult::energy_j. Single GPUs, nodes and racks are left out: a capture tells the places of its own ranks only.
// Error(input) for more than kMostPowerNumbers numbers.
PowerReport power_report(const CapturedScenario& scenario, const CaptureSimulation& simulation, double interval_s);

// Returns the figures of this power, over intervals of kPowerFigureInterval_s.
PowerFigures power_figures(const CapturedScenario& scenario, const CaptureSimulation& simulation);

}  // namespace mirfak
