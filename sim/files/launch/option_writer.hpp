#pragma once

#include "launch/option_list.hpp"
#include "program/job.hpp"

#include <string_view>

namespace mirfak {

// Returns the options of a job: those of `by_rules`, and the options of the list whose keys the job decides, in the
// order of the list. An option that a rule wrote is not written again. Error(infeasible) for a value that the program
// has no word for.
LaunchOptions written_options(const Job& job, const OptionList& list, LaunchOptions by_rules);

// Throws Error(infeasible) for the first refusal of the list whose conditions hold for the job. `elsewhere`: the
// beginning of keys that other files than these options decide, whose refusals do not count; "": none.
void require_possible(const Job& job, const OptionList& list, std::string_view elsewhere = "");

}  // namespace mirfak
