#pragma once

#include "alpa/planner.hpp"
#include "report/search_report.hpp"
#include "scenario/search_scenario.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Plans of Alpa's planner for a search's scenario, as input of the functions below. All references outlive the report.
struct PlanReport {
  const SearchScenario& scenario;
  const alpa::PlannerOutcome& outcome;
  alpa::Levels levels;
  std::optional<SearchOutcome> searched;  // result of the plain search, for comparison; absent: there was no time
  std::vector<std::string> notes;         // notes on the scenario of a job that runs as the plan says
};

// Returns the report for people: the stages of a plan with the figures of the planner and the engine, the search's best
// strategy for comparison, and the amount of planning work. Lines end with '\n'.
std::string plan_text(const PlanReport& report);

// Returns the report as JSON: the keys of a search, and those of README.md of this folder. `wall_time_s`: seconds of
// the command.
nlohmann::ordered_json plan_json(const PlanReport& report, double wall_time_s);

// Returns the plans as strategies that a search found.
SearchOutcome outcome_of(const alpa::PlannerOutcome& outcome);

// Returns the reason why no plan was found, and a change that would help.
SearchFailure plan_failure(const PlanReport& report);

}  // namespace mirfak
