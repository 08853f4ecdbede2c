#pragma once

#include "capture/capture_result.hpp"
#include "capture/captured_scenario.hpp"
#include "scenario/idle_keys.hpp"
#include "simulation/sensitivity.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mirfak {

// A scenario of a capture, executed.
struct CaptureSimulation {
  std::shared_ptr<const Capture> capture;  // as it was executed: of ranks that differ, each with its events
  CapturedProgram executed;
  CaptureResult result;
};

// Executes a scenario of a capture. Ranks on GPUs of several types, and perturbed ones, each run their own events.
// Errors as of captured_program() and with_events_of_each().
CaptureSimulation simulate(const CapturedScenario& scenario, const CaptureSources& sources);

// Returns the cluster and tables that price the scenario; valid as long as both arguments.
CapturePricing pricing_of(const CapturedScenario& scenario, const CaptureSources& sources);

// Executes the scenario again with more of each resource of its cluster. Errors as of simulate().
Sensitivity sensitivity(const CapturedScenario& scenario, const CaptureSources& sources, const CaptureResult& result,
                        double factor);

// Finds the keys of the cluster without effect (scenario/idle_keys.hpp), for which the scenario is executed again.
std::vector<IdleKey> idle_keys(const CapturedScenario& scenario, const CaptureSources& sources,
                               const CaptureResult& result);
// Returns the notes that the scenario states, and a note on each key without effect.
std::vector<std::string> notes_on_keys(const CapturedScenario& scenario, const CaptureSources& sources,
                                       const CaptureResult& result);

// Checks the scenario's conditions. Error(input) at a condition on a figure that a capture does not have.
AssertionResult check_assertions(const CapturedScenario& scenario, const CaptureResult& result);

}  // namespace mirfak
