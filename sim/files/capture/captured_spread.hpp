#pragma once

#include "capture/captured_scenario.hpp"
#include "simulation/spread.hpp"

namespace mirfak {

// Samples steps of a captured program, each with its own draw of cluster.perturbations, as sample_iterations() does of
// a job. All ranks that the capture has run their own events. Clocks are those of the step without factors. Ranks that
// are not in the capture draw factors for the communication that they take part in, and for nothing else. Errors as of
// sample_iterations(), captured_program() and with_events_of_each(); Error(input) for draws of tokens and experts,
// which a captured program has decided itself.
Spread sample_steps(const CapturedScenario& scenario, const CaptureSources& sources, const SpreadOptions& options);

}  // namespace mirfak
