#pragma once

#include "alpa/planner.hpp"
#include "report/search_text.hpp"
#include "scenario/search_scenario.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// What Alpa's planner made of a search's scenario, for the functions that print it. All outlive it.
struct PlanReport {
  const SearchScenario& scenario;
  const alpa::PlannerOutcome& outcome;
  alpa::Levels levels;
  std::optional<SearchOutcome> searched;  // the search's own best, to stand beside it; nothing: there was no time
  std::vector<std::string> notes;         // on the scenario, as a job that runs as the plan says
};

// What a person reads of a plan: its stages with what the planner and the engine say of each, the search's best beside
// it, and how much work planning was. Lines end with '\n'.
std::string plan_text(const PlanReport& report);

// The same for programs: the keys of a search, and those of README.md of this folder. `wall_time_s`: of the command.
nlohmann::ordered_json plan_json(const PlanReport& report, double wall_time_s);

// Its plans as strategies that a search found.
SearchOutcome outcome_of(const alpa::PlannerOutcome& outcome);

// Why no plan was found, and what to change.
SearchFailure plan_failure(const PlanReport& report);

}  // namespace mirfak
