#pragma once

#include "launch/launch_arguments.hpp"
#include "scenario/search_scenario.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// Keep a search to the strategies that a program runs, as the program's list of options says what it refuses
// (hw_profiles/launch/options/). Values that no strategy of the space could run with leave the space, with a note on
// each; whatever depends on several parameters is refused during the search (SearchSpec::refusals). Error(infeasible)
// at the place of a key that the scenario states and the program refuses, whatever the rest of the strategy.

// The program of the job's framework (Framework::program); without one, only what the framework says of ways to divide
// a model and of ZeRO. `hardware`: the folder hw_profiles/.
void keep_to_framework(SearchScenario& scenario, const std::filesystem::path& hardware);

// Returns a note on each value of a job's strategy for which a search over the job's framework leaves the strategy out,
// though it can be predicted. `document`: the job's scenario.
std::vector<std::string> notes_on_program(const Job& job, const Document& document,
                                          const std::filesystem::path& hardware);

// A target of launch_files(): every strategy that is found can be written for it. Error(infeasible) also if the target
// refuses a part of the job that a search does not choose.
void keep_to_target(SearchScenario& scenario, const LaunchRequest& request);

}  // namespace mirfak
