#pragma once

#include "report/comparison_report.hpp"
#include "report/frontier_report.hpp"
#include "report/jobs_report.hpp"
#include "report/plan_report.hpp"
#include "report/search_report.hpp"
#include "report/trace_comparison_report.hpp"
#include "report/train_report.hpp"
#include "report/validation_report.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// What `mirfak.show` draws (README.md of this folder): `kind`, a `title`, `result`, the object that --format json
// prints, and what views need beside it. `text`, what the command prints, is for pages without scripts. `wall_time_s`:
// of the command, until now.

// `notes`: on the scenario.
nlohmann::ordered_json simulation_page_data(const Scenario& scenario, const Simulation& simulation,
                                            std::span<const std::string> notes, double wall_time_s);
// Of several jobs; `network`: jobs_explanation(), of which the page takes what is of all jobs.
nlohmann::ordered_json jobs_page_data(const JobsFile& file, const JointSimulation& simulation, const NetworkUse& links,
                                      const std::string& network);
nlohmann::ordered_json search_page_data(const SearchReport& report, double wall_time_s);
// ... of Alpa's plans.
nlohmann::ordered_json plan_page_data(const PlanReport& report, double wall_time_s);
nlohmann::ordered_json training_page_data(const TrainReport& report, double wall_time_s);
nlohmann::ordered_json frontier_page_data(const FrontierReport& report, double wall_time_s);
nlohmann::ordered_json comparison_page_data(const ComparisonFile& file, const Comparison& comparison);
nlohmann::ordered_json validation_page_data(const std::vector<ValidationTable>& tables, const std::string& tiers);
// A predicted trace beside a measured one.
nlohmann::ordered_json traces_page_data(const TraceComparison& comparison);

// A page of such data: page_html() of its title and kind.
std::string page_of(const nlohmann::ordered_json& data);

}  // namespace mirfak
