#pragma once

#include "plan/search_outcome.hpp"
#include "scenario/search_scenario.hpp"

#include <string>
#include <vector>

namespace mirfak {

// What was searched for and what came of it, for the functions that print it. Both outlive it.
struct SearchReport {
  const SearchScenario& scenario;
  const SearchOutcome& outcome;
  std::vector<std::string> notes;  // on the scenario, as a job that runs as the best strategy says
};

}  // namespace mirfak
