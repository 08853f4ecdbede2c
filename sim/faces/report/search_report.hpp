#pragma once

#include "plan/search_outcome.hpp"
#include "scenario/search_scenario.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// Scenario and outcome of a search, as input of the functions that print them. Both outlive the report.
struct SearchReport {
  const SearchScenario& scenario;
  const SearchOutcome& outcome;
  std::vector<std::string> notes;  // notes on the scenario of a job that runs as the best strategy
};

// Returns the report of a search for people: the subject of the search, the strategies as a table, the reason why the
// best strategy is best (for a Pareto set: its ends and its knee), and the steps in which the other strategies were
// lost. Lines end with '\n'.
std::string search_text(const SearchReport& report);

// Returns the results of a search (keys: README.md of this folder). `wall_time_s`: seconds of the whole command.
nlohmann::ordered_json search_json(const SearchReport& report, double wall_time_s);

// Returns a strategy as the keys of a scenario's `strategy` section.
nlohmann::ordered_json strategy_json(const Strategy& strategy);

// Reason why nothing was found, and a change that would help. Needs a report without strategies.
struct SearchFailure {
  std::string reason;
  std::string hint;
};
SearchFailure search_failure(const SearchReport& report);
// Returns the reason alone, without the hint, which takes a while to find.
std::string search_failure_reason(const SearchReport& report);

}  // namespace mirfak
