#pragma once

#include "capture/capture_simulation.hpp"
#include "comparison/comparison_report.hpp"
#include "report/frontier_report.hpp"
#include "report/jobs_report.hpp"
#include "report/plan_report.hpp"
#include "report/search_report.hpp"
#include "report/train_report.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "trace/trace_comparison_report.hpp"
#include "validation/validation_report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Data that `mirfak.show` draws (README.md of this folder): `kind`, `title`, `result` (the object that --format json
// prints), and further keys for the views. `text`, the output of the command, is for pages without scripts.
// `wall_time_s`: seconds of the command until now.

// Data of a page of one simulation. `notes`: notes on the scenario.
nlohmann::ordered_json simulation_page_data(const Scenario& scenario, const Simulation& simulation,
                                            std::span<const std::string> notes, double wall_time_s);
// Data of a page of one step of a captured program. `result`, `text`: the output of the command as JSON and as text.
nlohmann::ordered_json capture_page_data(const CapturedScenario& scenario, const CapturePricing& pricing,
                                         const CaptureSimulation& simulation, nlohmann::ordered_json result,
                                         std::string text);
// Data of a page of several jobs. `network`: network_explanation().
nlohmann::ordered_json jobs_page_data(const JobsFile& file, const JointSimulation& simulation, const NetworkUse& links,
                                      const std::vector<Section>& network);
nlohmann::ordered_json search_page_data(const SearchReport& report, double wall_time_s);
// Data of a page of Alpa's plans.
nlohmann::ordered_json plan_page_data(const PlanReport& report, double wall_time_s);
nlohmann::ordered_json training_page_data(const TrainReport& report, double wall_time_s);
nlohmann::ordered_json frontier_page_data(const FrontierReport& report, double wall_time_s);
nlohmann::ordered_json comparison_page_data(const ComparisonFile& file, const Comparison& comparison);
nlohmann::ordered_json validation_page_data(const std::vector<ValidationTable>& tables, const std::string& tiers);
// Data of a page that compares a predicted trace with a measured one.
nlohmann::ordered_json traces_page_data(const TraceComparison& comparison);

// Returns the page of `data`: page_html() with the title and kind of `data`.
std::string page_of(const nlohmann::ordered_json& data);

// Number of strategies whose figures a page of a search explains.
inline constexpr std::size_t kExplainedStrategies = 10;

// Returns a list of explanation_of() for the first strategies that a search found, each simulated once more. The
// explanations include `time_to_finish_s` if it was asked for.
nlohmann::ordered_json strategy_explanations(const SearchScenario& search,
                                             std::span<const SimulatedStrategy> strategies,
                                             const ScenarioSources& sources);

// Returns the page of a search: page_of() of `data` with the explanations of the strategies.
std::string strategies_page(nlohmann::ordered_json data, const SearchScenario& search,
                            std::span<const SimulatedStrategy> strategies, const ScenarioSources& sources);

}  // namespace mirfak
