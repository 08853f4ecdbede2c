#pragma once

#include "plan/search_outcome.hpp"
#include "scenario/search_scenario.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Scenario and outcome of a search, as input of the functions that print them. Both outlive the report.
struct SearchReport {
  const SearchScenario& scenario;
  const SearchOutcome& outcome;
  std::vector<std::string> notes;  // notes on the scenario of a job that runs as the best strategy
};

}  // namespace mirfak
