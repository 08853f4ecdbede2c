#pragma once

#include "base/document.hpp"
#include "import/log_import.hpp"
#include "scenario/scenario_sources.hpp"

#include <string>
#include <vector>

namespace mirfak {

// A scenario of what a log says ran.
struct LoggedScenario {
  Document document;
  std::vector<std::string> notes;  // statements of the log that contradict the other file, each with both places
};

// Completes the keys that a log states by those of `other`, the scenario that the run was started with. The log
// decides where the two differ, which is noted, except for GPUs: those of `other` count, and other GPUs in the log are
// noted. Error(input) as of parse_scenario() for `other`.
LoggedScenario completed_by(const LoggedRun& run, const Document& other, const ScenarioSources& sources);

}  // namespace mirfak
