#pragma once

#include "launch/launch_arguments.hpp"
#include "program/job.hpp"
#include "scenario/scenario_sources.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Returns launch_files() after they are read again as `mirfak import` reads them. If the files make another job, with
// another iteration time or memory, a comment in the first file lists the keys of the scenario that the program's
// options leave open. `notes`: further comments. Errors as of launch_files().
std::vector<LaunchFile> noted_launch_files(const Job& job, const LaunchRequest& request, const ScenarioSources& sources,
                                           const std::vector<std::string>& notes = {});

}  // namespace mirfak
