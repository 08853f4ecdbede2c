#pragma once

#include "launch/launch_arguments.hpp"
#include "program/job.hpp"
#include "scenario/scenario_sources.hpp"

#include <vector>

namespace mirfak {

// launch_files(), read again as `mirfak import` reads them. Where that is another job, one whose iteration takes
// another time or another memory, the first file says in a comment which keys of the scenario the program's options
// leave unsaid. Errors as launch_files().
std::vector<LaunchFile> noted_launch_files(const Job& job, const LaunchRequest& request,
                                           const ScenarioSources& sources);

}  // namespace mirfak
