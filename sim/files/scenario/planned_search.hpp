#pragma once

#include "scenario/search_scenario.hpp"

namespace mirfak {

// Checks a search for Alpa's planner, which minimises time on all nodes and knows no limits. Error(input) at the key of
// `search` that asks for anything else.
void check_planned(const SearchScenario& scenario);

}  // namespace mirfak
