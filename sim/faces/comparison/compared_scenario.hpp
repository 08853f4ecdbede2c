#pragma once

#include "comparison/result_difference.hpp"
#include "scenario/scenario.hpp"

#include <span>
#include <string>

namespace mirfak {

// One of the two scenarios of a difference, simulated.
struct ComparedScenario {
  Scenario scenario;
  Simulation simulation;
  std::string name;

  ComparedRun run() const { return {name, &scenario, &simulation}; }
};

// Simulates one side of a difference. `own`: "key=value" texts that are set for this side alone and that its name
// includes. Error(input) for several jobs; other errors as of parse_scenario().
ComparedScenario compared_scenario(Document document, std::span<const std::string> own, const ScenarioSources& sources);

}  // namespace mirfak
