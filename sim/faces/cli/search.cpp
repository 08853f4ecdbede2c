#include "alpa/planner.hpp"
#include "base/error.hpp"
#include "base/interrupt_watch.hpp"
#include "base/origin.hpp"
#include "base/progress.hpp"
#include "base/staged_file.hpp"
#include "base/text.hpp"
#include "base/visible_text.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/emit_options.hpp"
#include "cli/import_options.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "launch/runnable_search.hpp"
#include "page/page_data.hpp"
#include "report/json_csv.hpp"
#include "report/plan_report.hpp"
#include "report/search_report.hpp"
#include "scenario/idle_keys.hpp"
#include "scenario/planned_search.hpp"
#include "scenario/search_scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

struct SearchOptions {
  std::vector<std::string> files;
  std::vector<std::string> overrides;
  ImportOptions import;
  std::string data;
  std::string planner;
  bool intra_only = false;
  bool inter_only = false;
  EmitOptions emit;
  std::string out;
  std::string report;
  bool show_space = false;
  int jobs = 0;
  std::string time_limit = "0";
  std::string format;
};

CommandSyntax syntax_for(SearchOptions& options) {
  CommandSyntax syntax(
      "mirfak search FILE... [OPTION]...",
      "Finds the best strategies to train the model of a scenario, or of the FILEs that start it (mirfak import). "
      "What\n"
      "stands under `strategy` is fixed, unless in a launch script; the `search` section limits the rest.");
  syntax.operands = &options.files;
  auto add = syntax.options.add_options();
  const auto short_for = [&](const char* name, const char* key, const char* value, const char* sentence) {
    const std::string assignment = fmt::format("search.{}=", key);
    const auto override_it = [&options, assignment](const std::string& text) {
      options.overrides.push_back(assignment + text);
    };
    add(name, po::value<std::string>()->notifier(override_it)->value_name(value), sentence);
  };
  add("set",
      po::value<std::vector<std::string>>()
          ->notifier(
              [&](const auto& all) { options.overrides.insert(options.overrides.begin(), all.begin(), all.end()); })
          ->value_name("KEY=VALUE"),
      "override a key of the scenario; may be repeated");
  short_for("objective", "objective", "WHAT", "time, cost, energy, pareto or time-to-finish");
  short_for("top", "top", "N", "how many layouts to find (search.top)");
  short_for("tolerance", "tolerance", "SHARE",
            "stop when no other strategy can be better by more than this share (search.tolerance)");
  short_for("budget", "budget_usd", "USD", "the most that the training may cost (search.budget_usd)");
  short_for("deadline", "deadline_days", "DAYS", "the longest that the training may take (search.deadline_days)");
  short_for("power-cap", "power_cap_w", "W", "the most that all GPUs may draw (search.power_cap_w)");
  const auto keys = [&](const char* name, const char* value, const char* sentence) {
    const auto override_it = [&options, name](const std::string& text) {
      options.overrides.push_back(fmt::format("search.{}={}", name, text == "all" ? text : fmt::format("[{}]", text)));
    };
    add(name, po::value<std::string>()->notifier(override_it)->value_name(value), sentence);
  };
  keys("free", "all|KEYS", "choose stated keys too; what is stated is compared (search.free)");
  add("robust", po::bool_switch()->notifier([&options](bool given) {
    if (given) options.overrides.emplace_back("search.robust=true");
  }),
      "find the least p90 of the time too, for --out and --emit (search.robust)");
  keys("keep", "KEYS", "keep stated keys, and choose all others (search.keep)");
  add("planner", po::value(&options.planner)->default_value("search")->value_name("search|alpa"),
      "the exact search, or Alpa's integer and dynamic programs");
  add("intra-only", po::bool_switch(&options.intra_only), "Alpa without pipeline stages: one stage has all GPUs");
  add("inter-only", po::bool_switch(&options.inter_only),
      "Alpa without intra-operator parallelism: one GPU for each stage");
  add("show-space", po::bool_switch(&options.show_space),
      "print the scenario with every limit of the search, then exit");
  options.emit.add_to(syntax);
  syntax.add_file(FileRole::output, "out", options.out, "FILE.yaml",
                  "write the best strategy as a scenario, or the script");
  syntax.add_file(FileRole::output, "report", options.report, "FILE.html",
                  "write a page with all strategies, a plot and their scenarios");
  add("jobs", po::value(&options.jobs)->default_value(0)->value_name("N"), "threads; 0: all cores");
  add("time-limit", po::value(&options.time_limit)->value_name("TIME"),
      "stop after this time, such as 90 or 10min, with the best strategy found so far, as Ctrl-C does");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json|csv"), "what to print");
  options.import.add_to(syntax);
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  return syntax;
}

const std::vector<std::string>& planner_names() {
  static const std::vector<std::string> names = {"search", "alpa"};
  return names;
}

bool plans_with_alpa(const SearchOptions& options) {
  return choice("--planner", options.planner, planner_names()) == 1;
}

void check_planner(const SearchOptions& options) {
  const bool alpa = plans_with_alpa(options);
  for (const auto& [given, name] :
       {std::pair(options.intra_only, "--intra-only"), {options.inter_only, "--inter-only"}}) {
    if (given && !alpa)
      fail_input({}, fmt::format("{} is for Alpa's planner", name), "add --planner alpa, or leave it out");
  }
  if (options.intra_only && options.inter_only) {
    fail_input({}, "--intra-only and --inter-only together leave nothing to plan", "leave one of them out, or both");
  }
}

// Returns the seconds of --time-limit: a number, or one with a unit; 0: no limit.
double time_limit_of(const SearchOptions& options) {
  const std::optional<double> seconds = seconds_in(options.time_limit);
  if (seconds && *seconds >= 0) return *seconds;
  fail_input({}, fmt::format("--time-limit: expected 0 (none) or more, found {}", excerpt(options.time_limit)),
             hint_on_times());
}

void check(const SearchOptions& options, OutputFormat format) {
  check_planner(options);
  if (options.jobs < 0) fail_input({}, fmt::format("--jobs: expected 0 or more, found {}", options.jobs));
  time_limit_of(options);
  options.emit.check(format);
  if (format != OutputFormat::csv) return;
  if (plans_with_alpa(options)) {
    fail_input({}, "--format csv is a row for each strategy of the search, and a plan of Alpa's has stages",
               "use --format json, or --planner search");
  }
}

void write_best(const fs::path& name, const SearchScenario& scenario, const Job& best) {
  write_text_file(name, fmt::format("{}# The best that a search of {} found.\n{}", origin_comment(),
                                    visible_name(scenario.name), found_scenario(scenario, best)));
}

// Stops the search at Ctrl-C, or after the time limit from now on.
SearchStop stop_of(const SearchOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const std::chrono::duration<double> limit(time_limit_of(options));
  return [=] {
    return InterruptWatch::interrupted() || (limit.count() > 0 && std::chrono::steady_clock::now() - begin >= limit);
  };
}

SearchOutcome searched(const SearchScenario& scenario, const SearchOptions& options, const Surroundings& surroundings) {
  const SearchStop stop = stop_of(options);
  Progress progress("strategies", 0, 0, surroundings.progress, surroundings.progress_columns);
  const auto show = [&](std::int64_t done, std::int64_t total) {
    progress.update(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
  };
  return search_and_simulate(scenario, options.jobs, show, stop);
}

// Writes the best strategy for a training program; --out is the changed script, where there is one.
void emit_best(const SearchScenario& scenario, const Job& best, const SearchOptions& options, CommandOutput& output) {
  const EmitSource source{scenario.document, options.import, options.emit.into.empty() ? "" : options.out};
  emit(best, options.emit, ScenarioSources(data_folders(options.data)), source, scenario.notes, output);
}

std::string printed(const SearchReport& report, OutputFormat format, const Surroundings& surroundings) {
  if (format == OutputFormat::text) return search_text(report);
  const nlohmann::ordered_json json = search_json(report, surroundings.seconds_so_far());
  return format == OutputFormat::csv ? csv_of_json(json["strategies"]) : printed_json(json);
}

alpa::Levels levels_of(const SearchOptions& options) {
  if (options.intra_only) return alpa::Levels::intra_only;
  return options.inter_only ? alpa::Levels::inter_only : alpa::Levels::both;
}

std::string printed(const PlanReport& report, OutputFormat format, const Surroundings& surroundings) {
  if (format == OutputFormat::text) return plan_text(report);
  return printed_json(plan_json(report, surroundings.seconds_so_far()));
}

void note_interruption(CommandOutput& output) {
  if (!InterruptWatch::interrupted()) return;
  output.complaint = "interrupted: the best of what was simulated until then";
  output.status = kStatusInterrupted;
}

// Options for the output of a result.
struct Telling {
  const SearchOptions& options;
  OutputFormat format;
  const Surroundings& surroundings;

  bool emits() const { return options.emit.given(); }
};

// Returns the output. `simulated`: the best strategy; null if nothing was found, with the reason from `failure_of`.
template <typename Report>
CommandOutput told(Report& report, const SimulatedStrategy* simulated, SearchFailure (*failure_of)(const Report&),
                   const Telling& how) {
  const Job* const best = simulated == nullptr ? nullptr : &simulated->found.job;
  const SearchScenario& scenario = report.scenario;
  CommandOutput output;
  if (best == nullptr) {
    const SearchFailure failure = failure_of(report);
    if (!how.emits()) output.text = printed(report, how.format, how.surroundings);
    output.complaint = fmt::format("{}: {}\n  {}", scenario.name, failure.reason, failure.hint);
    output.status = kStatusInfeasible;
    return output;
  }
  const AssertionResult asserted = check_assertions(scenario.assertions, *best, simulated->iteration);
  if (!how.emits() || !how.options.report.empty()) {
    report.notes = notes_on_keys(scenario, *best, ScenarioSources(data_folders(how.options.data)));
    report.notes.insert(report.notes.end(), asserted.notes.begin(), asserted.notes.end());
  }
  if (how.emits()) emit_best(scenario, *best, how.options, output);
  if (!how.emits()) output.text = printed(report, how.format, how.surroundings);
  if (!how.options.out.empty() && how.options.emit.into.empty()) write_best(how.options.out, scenario, *best);
  complain_of_assertions(asserted, output);
  note_interruption(output);
  return output;
}

// Writes the page of a search, with explanations of the figures of its best strategies.
void write_report(const SearchOptions& options, const SearchScenario& scenario,
                  std::span<const SimulatedStrategy> strategies, nlohmann::ordered_json data) {
  const ScenarioSources sources(data_folders(options.data));
  write_text_file(options.report, strategies_page(std::move(data), scenario, strategies, sources));
}

CommandOutput run_alpa(const SearchScenario& scenario, const Telling& how) {
  check_planned(scenario);
  const SearchOptions& options = how.options;
  const SearchStop stop = stop_of(options);
  Progress progress("plans", 0, 0, how.surroundings.progress, how.surroundings.progress_columns);
  const auto show = [&](std::int64_t done, std::int64_t total) {
    progress.update(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
  };
  const alpa::PlannerOutcome outcome = alpa::plan(
      scenario.job, scenario.search.spec, {levels_of(options), options.jobs, scenario.search.spec.top}, show, stop);
  PlanReport report{scenario, outcome, levels_of(options), std::nullopt, {}};
  if (!how.emits() && !outcome.plans.empty()) {
    report.searched = best_in_time(scenario.job, scenario.search.spec, options.jobs, stop);
  }
  const SimulatedStrategy* best = outcome.plans.empty() ? nullptr : &outcome.plans.front().simulated;
  CommandOutput output = told(report, best, plan_failure, how);
  if (!options.report.empty()) {
    write_report(options, scenario, outcome_of(outcome).strategies,
                 plan_page_data(report, how.surroundings.seconds_so_far()));
  }
  return output;
}

// Returns the scenario. A launch script states a whole strategy, which leaves nothing to search: all of it is free
// unless something else is said.
Document searched_document(const SearchOptions& options, const ScenarioSources& sources) {
  Document document = scenario_document(options.files, options.import, options.overrides, sources);
  const bool script = options.import.given() || is_import_file(options.files.front(), sources);
  if (script && !plans_with_alpa(options) && !freed_keys(document).any()) document.override_value("search.free=all");
  return document;
}

// Keeps the search to strategies that the framework, and the program that they are emitted for, can run. Alpa's planner
// has a space of its own.
void keep_to_programs(SearchScenario& scenario, const SearchOptions& options, const DataFolders& folders) {
  if (plans_with_alpa(options)) return;
  keep_to_framework(scenario, folders.hardware);
  if (options.emit.given()) keep_to_target(scenario, options.emit.request(folders.hardware));
}

}  // namespace

CommandOutput run_search(std::span<const std::string> arguments, const Surroundings& surroundings) {
  SearchOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_or_csv_choice(options.format);
  check(options, format);
  const DataFolders folders = data_folders(options.data);
  const ScenarioSources sources(folders);
  options.emit.complete(options.files, options.import, sources);
  SearchScenario scenario = parse_search(searched_document(options, sources), folders);
  keep_to_programs(scenario, options, folders);
  if (options.show_space) return {scenario.resolved, {}};

  const InterruptWatch watch;
  const Telling how{options, format, surroundings};
  if (plans_with_alpa(options)) return run_alpa(scenario, how);
  const SearchOutcome outcome = searched(scenario, options, surroundings);
  SearchReport report{scenario, outcome, {}};
  const SimulatedStrategy* best = outcome.strategies.empty() ? nullptr
                                  : outcome.robust           ? &outcome.robust->robust.strategy
                                                             : &outcome.strategies.front();
  CommandOutput output = told(report, best, search_failure, how);
  if (!options.report.empty()) {
    write_report(options, scenario, outcome.strategies, search_page_data(report, surroundings.seconds_so_far()));
  }
  return output;
}

}  // namespace mirfak
