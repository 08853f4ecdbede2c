#pragma once

#include "base/document.hpp"
#include "capture/captured_scenario.hpp"
#include "energy/clocked_program.hpp"
#include "energy/frontier.hpp"
#include "energy/part_clocks.hpp"
#include "scenario/scenario.hpp"

#include <cstdint>
#include <optional>
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

// Choices for each pass besides one clock.
struct FrontierUnits {
  static constexpr double kUsualChange_s = 10e-3;  // README.md of energy/ says why
  static std::vector<int> usual_communication_sms() { return {2, 4, 8, 16}; }

  static const std::vector<std::string>& unit_names();  // "pass", "part", "kernel-class"
  // The units of these names, a name's index, and the choices of --joint. Error(input) if they contradict each other.
  static FrontierUnits of(std::size_t unit, bool joint);

  bool parts = false;                  // parts of passes have clocks of their own
  PartCut cut = PartCut::collectives;  // of these parts
  bool joint = false;    // so do parts of passes; passes may run as two parts of a microbatch, and with few channels
  bool launches = true;  // joint: collectives beside the other part of a microbatch may start later than they can
  double change_s = 0;   // time of a change of clock inside a pass
  std::vector<int> communication_sms = {};  // joint: multiprocessors of a part's collectives to choose from
};

// A frontier of fewer choices than were asked for, or of another time of a change, for comparison.
struct FrontierStep {
  std::string choices;  // "one clock a pass", "+ clocks of parts"
  double t_min_s = 0;
  double t_min_energy_j = 0;
  double energy_j = 0;  // until the highest clocks would be done
  double saving = 0;    // of the energy at the highest clocks
};

// Returns the frontiers from one clock for each pass to the units of `asked`, which is the last step; with parts alone,
// also frontiers of other times of a change of clock. Empty if `asked` has one clock for each pass.
std::vector<FrontierStep> frontier_steps(const Scenario& scenario, const FrontierUnits& units, const Frontier& asked);

// Returns the subject of a scenario's job. `stragglers`: factors by which other pipelines take longer; empty: the
// factors that cluster.perturbations cause in the iteration. Errors as of clocked_program().
ClockedSubject clocked_subject(const Scenario& scenario, const ScenarioSources& sources,
                               std::span<const double> stragglers, const FrontierUnits& units = {});

// Returns the subject of a captured program. Errors as of captured_clocks().
ClockedSubject clocked_subject(const CapturedScenario& scenario, const CaptureSources& sources,
                               std::span<const double> stragglers);

// A frontier's subject, and the scenario that it is of; none for a capture.
struct DocumentSubject {
  ClockedSubject subject;
  std::optional<Scenario> scenario;
};
// Returns the subject of the scenario, of a model or of a capture, in a document. Errors as of its reader, and above;
// Error(input) for parts or ways of captured passes, which have one clock.
DocumentSubject clocked_subject(const Document& document, const ScenarioSources& sources,
                                std::span<const double> stragglers, const FrontierUnits& units = {});

// Returns a count with its noun: "1 stage", "8 stages", "12 microbatches".
std::string counted_text(std::int64_t count, const std::string& noun);

}  // namespace mirfak
