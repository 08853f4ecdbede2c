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

// Completes what a log states by `other`, the scenario that the run was started with. Keys that the log states count,
// and a difference from `other` is noted; GPUs are those of `other`, and a log of other GPUs is noted. Error(input) as
// of parse_scenario() for `other`.
LoggedScenario completed_by(const LoggedRun& run, const Document& other, const ScenarioSources& sources);

}  // namespace mirfak
