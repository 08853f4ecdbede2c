#pragma once

#include "energy/frontier.hpp"
#include "report/frontier_subject.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// A frontier and its subject, as input of the reports below.
struct FrontierReport {
  std::string title;  // "profile.csv: 8 stages, 96 microbatches, 1f1b"
  const ClockedProgram& clocked;
  const Frontier& frontier;
  std::vector<std::string> notes;
  std::vector<FrontierStep> steps = {};  // what each kind of choice saves
};

// Returns "0.2 % too late" for clocks that miss the deadline of the plan, "" for clocks that keep the deadline.
std::string lateness_text(const StragglerPlan& plan, const ExecutedClocks& executed);

// Returns the report for people: the shortest iteration and the iteration of least energy, the curve drawn in letters,
// a table of clocks for each straggler.
std::string frontier_text(const FrontierReport& report);
// Returns the report as JSON (keys: sim/faces/report/README.md).
nlohmann::ordered_json frontier_json(const FrontierReport& report, double wall_time_s);
// Returns the corners of the curve: a line of iteration_time_s,energy_j each.
std::string frontier_csv(const Frontier& frontier);
// Returns the clocks to set, by straggler, stage and pass; passes are in the order in which the stage executes them.
nlohmann::ordered_json clock_plan_json(const FrontierReport& report);

}  // namespace mirfak
