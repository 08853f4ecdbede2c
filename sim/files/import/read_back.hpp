#pragma once

#include "import/import_draft.hpp"
#include "launch/launch_arguments.hpp"
#include "program/job.hpp"
#include "scenario/scenario_sources.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Returns launch_files() after they are read again as `mirfak import` reads them. If the files make another job, with
// another iteration time or memory, a comment in the first file lists the keys of the scenario that the program's
// options leave open. `notes`: further comments. Errors as of launch_files().
std::vector<LaunchFile> noted_launch_files(const Job& job, const LaunchRequest& request, const ScenarioSources& sources,
                                           const std::vector<std::string>& notes = {});

// Returns the job that written files are read as, on the nodes of the job that they were written of; nullopt: none,
// with the reason in `why`.
std::optional<Job> job_read_again(const Job& job, std::span<const LaunchFile> files, const ScenarioSources& sources,
                                  std::string& why);

// Returns the job of a draft on the nodes of another job, whose own order of passes stands in a file next to the
// options. `file`: the file of errors without a place.
Job job_of_draft(const ImportDraft& draft, const Job& job, const std::string& file, const ScenarioSources& sources);

// Returns how figures of another job differ: "an iteration 1.2 times as long"; "": time and memory are the same, or the
// first job cannot be simulated.
std::string figures_changed(const Job& job, const Job& again);

// Returns the keys of the scenario in which another job differs: "strategy.zero: 3, read again 1".
std::vector<std::string> job_differences(const Job& job, const Job& again);

}  // namespace mirfak
