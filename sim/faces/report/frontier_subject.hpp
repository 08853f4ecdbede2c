#pragma once

#include "base/document.hpp"
#include "capture/captured_scenario.hpp"
#include "energy/clocked_program.hpp"
#include "scenario/scenario.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Subject of a frontier: a program with clocks, its title, stragglers and notes.
struct ClockedSubject {
  std::string title;
  ClockedProgram clocked;
  std::vector<double> stragglers;
  std::vector<std::string> notes;
};

// Returns the subject of a scenario's job. `stragglers`: factors by which other pipelines take longer; empty: the
// factors that cluster.perturbations cause in the iteration. Errors as of clocked_program().
ClockedSubject clocked_subject(const Scenario& scenario, const ScenarioSources& sources,
                               std::span<const double> stragglers);

// Returns the subject of a captured program. Errors as of captured_clocks().
ClockedSubject clocked_subject(const CapturedScenario& scenario, const CaptureSources& sources,
                               std::span<const double> stragglers);

// Returns the subject of the scenario, of a model or of a capture, in a document. Errors as of its reader, and above.
ClockedSubject clocked_subject(const Document& document, const ScenarioSources& sources,
                               std::span<const double> stragglers);

// Returns a count with its noun: "1 stage", "8 stages", "12 microbatches".
std::string counted_text(std::int64_t count, const std::string& noun);

}  // namespace mirfak
