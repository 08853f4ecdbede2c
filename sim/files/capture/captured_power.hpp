#pragma once

#include "capture/capture_simulation.hpp"
#include "trace/power_report.hpp"

namespace mirfak {

// Returns the power of a captured step over time, as power_report() does of an iteration: of kernels at the clocks that
// GPUs hold, of GPUs that wait, of hosts and network. Captured ranks stand for those that did what they did, and all of
// them for the ranks that the capture has not, as in CaptureResult::energy_j: the means of all GPUs times their length
// add up to it. GPUs, nodes and racks are left out, as a capture says where only its own ranks are. Error(input) for
// more than kMostPowerNumbers numbers.
PowerReport power_report(const CapturedScenario& scenario, const CaptureSimulation& simulation, double interval_s);

// Returns the figures of this power, over intervals of kPowerFigureInterval_s.
PowerFigures power_figures(const CapturedScenario& scenario, const CaptureSimulation& simulation);

}  // namespace mirfak
