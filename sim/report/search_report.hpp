#pragma once

#include "plan/search_outcome.hpp"
#include "scenario/search_scenario.hpp"

namespace mirfak {

// What was searched for and what came of it, for the functions that print it. Both outlive it.
struct SearchReport {
  const SearchScenario& scenario;
  const SearchOutcome& outcome;
};

}  // namespace mirfak
