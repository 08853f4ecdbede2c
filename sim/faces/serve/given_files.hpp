#pragma once

#include "import/imported_job.hpp"
#include "scenario/scenario_sources.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak::serve {

// A scenario made of files that a reader gave to the page.
struct GivenScenario {
  std::string text;                    // the scenario as YAML
  std::string read_as;                 // kind of the first file: "scenario", "model", or a format of import/
  std::vector<std::string> obstacles;  // what the files do not say, or say and mirfak does not describe
};

// Reads files, of which the first decides: a scenario is taken as it is; a model (a config.json or a model file) takes
// the place of the model in `scenario`; any other file is one of a training program, read by import/ with the others.
// Error(input) for files that cannot be read.
GivenScenario given_scenario(std::span<const ImportFile> files, const std::string& scenario,
                             const ScenarioSources& sources);

}  // namespace mirfak::serve
