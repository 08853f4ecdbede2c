#include "page/page_data.hpp"

#include "base/parallel.hpp"
#include "base/units.hpp"
#include "capture/capture_report.hpp"
#include "page/captured_reasons.hpp"
#include "page/captured_timeline.hpp"
#include "page/figure_reasons.hpp"
#include "page/page.hpp"
#include "page/pass_timeline.hpp"
#include "page/training_reasons.hpp"
#include "report/job_text.hpp"
#include "report/memory_remedies.hpp"
#include "report/memory_shortage.hpp"
#include "report/result_json.hpp"
#include "report/search_report.hpp"
#include "report/strategy_columns.hpp"
#include "report/summary_text.hpp"
#include "simulation/long_iteration.hpp"
#include "simulation/replica_labels.hpp"
#include "trace/power_report.hpp"
#include "trace/timeline_text.hpp"
#include "trace/training_power_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDrawnLines = 200;  // lines of a spectrum, the strongest ones
constexpr int kWorstRows = 10;            // worst rows in the text of a validation

Json page_data(const char* kind, const std::string& title, Json result, std::string text) {
  return {{"kind", kind}, {"title", title}, {"result", std::move(result)}, {"text", std::move(text)}};
}

// The subject of a page in words: pairs of a name and a text.
using Facts = std::vector<std::pair<std::string, std::string>>;

Facts facts_of(const std::string& scenario, const Job& job, const std::string& microbatches) {
  return {{"scenario", scenario},
          {"model", model_text(job.model)},
          {"cluster", cluster_text(job.cluster)},
          {"strategy", strategy_text(job)},
          {"batch", sequences_text(job.training) + microbatches},
          {"framework", fmt::format("{}, {}", job.framework.name, job.training.precision)}};
}

// Adds the words and the scenario of each strategy, and the scenario that was searched.
void add_strategies(const SearchScenario& search, std::span<const SimulatedStrategy> strategies, Json& out) {
  out["range_level"] = search.job.ranges.level;
  Json& names = out["names"] = Json::array();
  Json& scenarios = out["scenarios"] = Json::array();
  for (const SimulatedStrategy& strategy : strategies) {
    names.push_back(whole_strategy_text(strategy.found.job));
    scenarios.push_back(found_scenario(search, strategy.found.job));
  }
  out["scenario"] = search.resolved;
}

constexpr double kPowerSteps = 1e5;  // units of the highest power of a view

// Returns a series as whole multiples of a unit: five digits of its highest value.
Json multiples_of(double unit_w, const std::vector<double>& watts) {
  Json out = Json::array();
  for (const double value : watts) out.push_back(std::llround(value / unit_w));
  return out;
}

// Returns the power over time that a page draws, with as many intervals as a screen shows.
Json power_view(const Simulation& simulation) {
  constexpr double kIntervals = 1500;
  constexpr double kShortest_s = 1e-3;
  const double interval_s = std::max(kShortest_s, simulation.result.iteration_time_s / kIntervals);
  const PowerReport report = power_report(simulation, interval_s, false);
  const PowerWaveform& of = report.waveform;
  const double unit_w = *std::max_element(of.machine_w.begin(), of.machine_w.end()) / kPowerSteps;
  const Json summary = power_json(report);
  Json out = {{"interval_s", of.interval_s},
              {"unit_w", unit_w},
              {"band", fmt::format("from {:g} to {:g} Hz", kLowestLine_hz, kHighestLine_hz)},
              {"swing_w", simulation.result.power->swing_w},
              {"swing_without_collectives_w", report.profile.swing_without_collectives_w},
              {"machine", multiples_of(unit_w, of.machine_w)}};
  for (std::size_t part = 0; part < of.shown_parts(); ++part) {
    out["parts"][std::string(name_of(static_cast<PowerPart>(part)))] = multiples_of(unit_w, of.parts_w[part]);
  }
  out["strongest"] = summary.at("strongest_lines");
  out["lines"] = lines_json(strongest(report.profile.lines, kDrawnLines));
  out["notes"] = of.notes;
  return out;
}

// Returns the power over the run of a training that ends at the median.
Json power_view(const TrainReport& report) {
  constexpr double kIntervals = 1500;
  constexpr double kShortest_s = 1;
  const TrainingPrediction& prediction = report.prediction;
  const double interval_s = std::max(kShortest_s, prediction.median_run.back().end_s / kIntervals);
  const TrainingPower power = power_of_run(prediction.course, prediction.median_run, interval_s);
  const double unit_w = *std::max_element(power.machine_w.begin(), power.machine_w.end()) / kPowerSteps;
  Json out = training_power_json(power);
  out["unit_w"] = unit_w;
  out["machine"] = multiples_of(unit_w, power.machine_w);
  Json parts = Json::object();
  for (std::size_t part = 0; part < kTimeParts; ++part) {
    if (!power.parts_w[part].empty()) parts[time_part_names()[part]] = multiples_of(unit_w, power.parts_w[part]);
  }
  out["parts"] = std::move(parts);
  out["notes"] = notes_on_idle_hosts(report.scenario.job.cluster);
  return out;
}

std::string failure_text(const SearchFailure& failure) {
  return fmt::format("No strategy was found: {}; {}", failure.reason, failure.hint);
}

std::string title_of(const char* what, const Job& job) {
  return fmt::format("{}{} on {}", what, job.model.name, cluster_text(job.cluster));
}

void add_finish(const FoundStrategy& found, Json& figures) {
  if (found.finish_s <= 0) return;
  figures["time_to_finish_s"] = {
      {"meaning",
       "The whole training, expected in closed form: its iterations, what failures take back, saves, restarts and "
       "planned pauses. `mirfak train` simulates it and says where the time goes."},
      {"formula", fmt::format("iterations of {} each, and what happens between them: {}",
                              format_seconds(found.iteration_time_s), format_seconds(found.finish_s))},
      {"see", Json::array()}};
}

}  // namespace

nlohmann::ordered_json simulation_page_data(const Scenario& scenario, const Simulation& simulation,
                                            std::span<const std::string> notes, double wall_time_s) {
  require_whole(simulation, "a page");
  const Job& job = simulation.job;
  Json out = page_data(
      "simulate", title_of("", job), result_json(simulation, wall_time_s, notes),
      summary_text(scenario, simulation, notes) + "\n" + timeline_text(simulation.program, simulation.timeline, {}));
  out["facts"] = facts_of(scenario.name, job, ": " + microbatches_text(simulation));
  out["shortage"] = nullptr;
  if (!simulation.result.fits) {
    out["shortage"] = {{"message", memory_shortage_text(simulation.result)},
                       {"hint", memory_remedies(job, simulation.result)}};
  }
  out["range_level"] = job.ranges.level;
  out["timeline"] = pass_timeline(simulation);
  out["power"] = power_view(simulation);
  out["explanation"] = explanation_of(scenario, simulation);
  out["scenario"] = scenario.resolved;
  return out;
}

nlohmann::ordered_json capture_page_data(const CapturedScenario& scenario, const CapturePricing& pricing,
                                         const CaptureSimulation& simulation, nlohmann::ordered_json result,
                                         std::string text) {
  const Capture& capture = *simulation.capture;
  Json out = page_data("capture", fmt::format("{} on {}", capture.program, cluster_text(scenario.cluster)),
                       std::move(result), std::move(text));
  out["facts"] = Facts{{"capture", std::filesystem::path(capture.file).filename().string()},
                       {"program", capture.program},
                       {"cluster", cluster_text(scenario.cluster)},
                       {"ranks", captured_ranks_text(capture)},
                       {"step", captured_step_text(capture)},
                       {"PyTorch", fmt::format("{}, told of {}", capture.torch, capture.device)}};
  out["range_level"] = pricing.ranges == nullptr ? 0 : pricing.ranges->level;
  out["timeline"] = captured_timeline(simulation);
  out["explanation"] = explanation_of(pricing, simulation.result);
  out["scenario"] = scenario.resolved;
  return out;
}

nlohmann::ordered_json jobs_page_data(const JobsFile& file, const JointSimulation& simulation, const NetworkUse& links,
                                      const std::vector<Section>& network) {
  Json out = page_data("jobs", fmt::format("{} jobs on {}", file.jobs.size(), cluster_text(file.cluster)),
                       jobs_json(file, simulation, links), jobs_text(file, simulation));
  out["facts"] = Facts{{"scenario", file.name}, {"cluster", cluster_text(file.cluster)}};
  out["network"] = sections_json(network);
  Json& jobs = out["jobs"] = Json::array();
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    const JobAmongOthers& among = simulation.jobs[i];
    Simulation beside = simulation.alone[i];
    beside.timeline = simulation.iteration_of(i, static_cast<std::size_t>(among.first));
    beside.result = among.together;
    const Scenario& scenario = file.jobs[i].scenario;
    jobs.push_back({{"facts", facts_of(scenario.name, scenario.job, ": " + microbatches_text(beside))},
                    {"range_level", scenario.job.ranges.level},
                    {"timeline", pass_timeline(beside)},
                    {"explanation", explanation_of(scenario, beside)}});
  }
  out["scenario"] = file.text;
  return out;
}

nlohmann::ordered_json search_page_data(const SearchReport& report, double wall_time_s) {
  Json out = page_data("search", title_of("Strategies for ", report.scenario.job), search_json(report, wall_time_s),
                       search_text(report));
  add_strategies(report.scenario, report.outcome.strategies, out);
  if (report.outcome.strategies.empty()) out["failure"] = failure_text(search_failure(report));
  return out;
}

nlohmann::ordered_json plan_page_data(const PlanReport& report, double wall_time_s) {
  Json out = page_data("plan", title_of("Alpa's plans for ", report.scenario.job), plan_json(report, wall_time_s),
                       plan_text(report));
  add_strategies(report.scenario, outcome_of(report.outcome).strategies, out);
  if (report.outcome.plans.empty()) out["failure"] = failure_text(plan_failure(report));
  return out;
}

nlohmann::ordered_json training_page_data(const TrainReport& report, double wall_time_s) {
  const Scenario& scenario = report.scenario;
  const TrainingPrediction& prediction = report.prediction;
  Json out = page_data("train", title_of("The training of ", scenario.job), train_json(report, wall_time_s),
                       train_text(report));
  out["facts"] = facts_of(scenario.name, scenario.job, "");
  Json& finish = out["finish"] = Json::array();
  for (const FinishShare& share : prediction.estimate.finish_shares) {
    finish.push_back(Json::array({share.share, share.finish_s}));
  }
  out["explanation"] = training_explanation(report);
  if (!prediction.median_run.empty()) {
    out["timeline"] = run_timeline(prediction);
    out["power"] = power_view(report);
  }
  out["scenario"] = scenario.resolved;
  return out;
}

nlohmann::ordered_json frontier_page_data(const FrontierReport& report, double wall_time_s) {
  Json out = page_data("frontier", "Time-energy frontier", frontier_json(report, wall_time_s), frontier_text(report));
  Json& clocks = out["clocks"] = Json::array();
  for (const StragglerPlan& plan : report.frontier.plans) {
    clocks.push_back(clock_timeline(report.clocked, plan.executed));
  }
  return out;
}

nlohmann::ordered_json comparison_page_data(const ComparisonFile& file, const Comparison& comparison) {
  Json out =
      page_data("compare", "Options compared", comparison_json(file, comparison), comparison_text(file, comparison));
  out["question"] = comparison_question(file, comparison);
  out["winner"] = comparison_winner(comparison);
  for (const OptionResult& row : comparison.rows) {
    if (!row.scenario) continue;
    const Job& job = row.scenario->job;
    out["facts"] = Facts{{"model", model_text(job.model)}, {"batch", sequences_text(job.training)}};
    break;
  }
  return out;
}

nlohmann::ordered_json validation_page_data(const std::vector<ValidationTable>& tables, const std::string& tiers) {
  return page_data("validate", "Predictions and measurements", validation_json(tables, tiers),
                   validation_text(tables, tiers, kWorstRows));
}

nlohmann::ordered_json traces_page_data(const TraceComparison& comparison) {
  return page_data("traces", fmt::format("{} against {}", comparison.predicted, comparison.measured),
                   comparison_json(comparison), comparison_text(comparison, kWorstRows));
}

nlohmann::ordered_json strategy_explanations(const SearchScenario& search,
                                             std::span<const SimulatedStrategy> strategies,
                                             const ScenarioSources& sources) {
  std::vector<Json> made(std::min(kExplainedStrategies, strategies.size()));
  parallel_for(made.size(), [&](std::size_t i) {
    const FoundStrategy& found = strategies[i].found;
    const Scenario scenario = as_scenario(search, found.job, sources);
    made[i] = explanation_of(scenario, simulate(scenario.job));
    add_finish(found, made[i]["figures"]);
  });
  return made;
}

std::string strategies_page(nlohmann::ordered_json data, const SearchScenario& search,
                            std::span<const SimulatedStrategy> strategies, const ScenarioSources& sources) {
  data["explanations"] = strategy_explanations(search, strategies, sources);
  return page_of(data);
}

std::string page_of(const nlohmann::ordered_json& data) {
  return page_html(data.at("title").get<std::string>(), data.at("kind").get<std::string>(), data);
}

}  // namespace mirfak
