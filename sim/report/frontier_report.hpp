#pragma once

#include "energy/frontier.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// What a frontier is of, and the frontier: all that its reports say.
struct FrontierReport {
  std::string title;  // "profile.csv: 8 stages, 96 microbatches, 1f1b"
  const ClockedProgram& clocked;
  const Frontier& frontier;
  std::vector<std::string> notes;
};

// "0.2 % too late" of clocks that miss the deadline of the plan, "" of those that keep it.
std::string lateness_text(const StragglerPlan& plan, const ExecutedClocks& executed);

// For people: the shortest and the thriftiest iteration, the curve drawn in letters, a table of clocks per straggler.
std::string frontier_text(const FrontierReport& report);
// sim/report/README.md: every key.
nlohmann::ordered_json frontier_json(const FrontierReport& report, double wall_time_s);
// The corners of the curve: a line of iteration_time_s,energy_j each.
std::string frontier_csv(const Frontier& frontier);
// Per straggler, stage and pass, in the order in which the stage executes them, the clock to set.
nlohmann::ordered_json clock_plan_json(const FrontierReport& report);

}  // namespace mirfak
