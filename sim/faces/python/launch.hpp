#pragma once

#include "program/job.hpp"
#include "scenario/scenario_sources.hpp"

#include <string>

namespace mirfak::python {

// Returns the arguments or files with which a program runs a job, in one text. `launcher`: "": none. Error(input) for
// an unknown target or launcher, Error(infeasible) for a job that the program cannot express.
std::string launch_text_of(const Job& job, const std::string& target, const std::string& launcher,
                           const ScenarioSources& sources);

}  // namespace mirfak::python
