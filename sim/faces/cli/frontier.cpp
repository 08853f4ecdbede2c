#include "energy/frontier.hpp"
#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/import_options.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "energy/profiled_pipeline.hpp"
#include "page/page_data.hpp"
#include "report/frontier_report.hpp"
#include "report/frontier_subject.hpp"
#include "report/json_csv.hpp"
#include "scenario/scenario.hpp"
#include "schedule/schedule_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace mirfak {

namespace {

namespace po = boost::program_options;

constexpr std::int64_t kMaxProfilePasses = 16'000'000;

struct FrontierOptions {
  std::string scenario;
  std::vector<std::string> overrides;
  ImportOptions import;
  std::string data;
  std::string profile;
  std::optional<int> stages;
  std::optional<int> microbatches;
  std::string schedule;
  int chunks = 1;
  double blocking_power = 0;
  std::vector<double> stragglers;
  std::string format;
  std::string plan;
  std::string out;
  std::string report;
  std::string unit;
  std::string switch_time;
  bool joint = false;
  std::vector<int> communication_sms;
};

CommandSyntax syntax_for(FrontierOptions& options) {
  CommandSyntax syntax(
      "mirfak frontier SCENARIO [OPTION]...\n"
      "       mirfak frontier --profile P.csv --stages S --microbatches M [OPTION]...",
      "Plans the GPU clock of every pass: prints the least energy of a training iteration for every time that it may\n"
      "take, and the saving, for the job of the YAML file SCENARIO or for measured passes of a pipeline.");
  auto add = syntax.options.add_options();
  add("set", po::value(&options.overrides)->value_name("KEY=VALUE"), "override a key of the scenario");
  options.import.add_to(syntax);
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  syntax.add_file(FileRole::input, "profile", options.profile, "P.csv",
                  "measured passes: a table with columns stage, instruction, frequency (MHz), time (s), energy (J)");
  add("stages", po::value<int>()->notifier([&](int count) { options.stages = count; })->value_name("S"),
      "pipeline stages of the profile");
  add("microbatches", po::value<int>()->notifier([&](int count) { options.microbatches = count; })->value_name("M"),
      "microbatches of an iteration");
  syntax.add_file(FileRole::input, "schedule", options.schedule, "NAME",
                  "order of passes: gpipe, 1f1b or interleaved-1f1b; default 1f1b, interleaved-1f1b with chunks");
  add("chunks", po::value(&options.chunks)->default_value(1)->value_name("V"), "chunks of each stage");
  add("blocking-power", po::value(&options.blocking_power)->default_value(0)->value_name("W"),
      "power that a GPU of the profile draws while it waits");
  add("straggler", po::value(&options.stragglers)->value_name("X"),
      "also plan for another pipeline that takes X times as long; may be repeated; default: the slowdown by "
      "cluster.perturbations");
  add("unit", po::value(&options.unit)->default_value("pass")->value_name("pass|part|kernel-class"),
      "what has a clock of its own: a pass, its parts between collectives, or in these each class of kernels");
  add("switch-time", po::value(&options.switch_time)->value_name("TIME"),
      "time of a change of clock inside a pass, such as 0 or 1ms; default 10ms");
  add("joint", po::bool_switch(&options.joint),
      "choose for each pass also whether it runs as two parts, the kernels that their collectives start with, and the "
      "multiprocessors of each part's collectives");
  add("communication-sms", po::value(&options.communication_sms)->value_name("N"),
      "multiprocessors of --joint, beside what the library chooses; may be repeated; default 2, 4, 8 and 16");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json|csv"), "what to print");
  syntax.add_file(FileRole::output, "plan", options.plan, "FILE.json", "write the clock of every pass");
  syntax.add_file(FileRole::output, "out", options.out, "FILE.csv", "write the corners of the frontier");
  syntax.add_file(FileRole::output, "report", options.report, "FILE.html",
                  "write a page with the frontier and the clocks");
  return syntax;
}

int whole_number(const char* option, std::optional<int> value, int max) {
  if (!value) fail_input({}, fmt::format("--profile needs --{}", option), "a number from 1");
  if (*value >= 1 && *value <= max) return *value;
  fail_input({}, fmt::format("--{}: expected a number from 1 to {}, found {}", option, max, *value));
}

void check_numbers(const FrontierOptions& options) {
  constexpr double kMaxWatts = 1e5;
  constexpr double kMaxSlowdown = 1000;
  if (!(options.blocking_power >= 0 && options.blocking_power <= kMaxWatts)) {
    fail_input(
        {}, fmt::format("--blocking-power: expected watts from 0 to {}, found {}", kMaxWatts, options.blocking_power));
  }
  for (const double slowdown : options.stragglers) {
    if (slowdown >= 1 && slowdown <= kMaxSlowdown) continue;
    fail_input({}, fmt::format("--straggler: expected a factor from 1 to {}, found {}", kMaxSlowdown, slowdown),
               "1.2 is a pipeline that takes 20 % longer");
  }
}

ScheduleId asked_schedule(const FrontierOptions& options) {
  const std::string name = !options.schedule.empty() ? options.schedule
                           : options.chunks > 1      ? "interleaved-1f1b"
                                                     : "1f1b";
  if (is_schedule_path(name)) return read_schedule_file(name, name);
  return static_cast<ScheduleId>(choice("--schedule", name, schedule_names()));
}

// Checks the shape, and sets the number of chunks if the schedule fixes it.
void check_shape(const Schedule& schedule, PipelineShape& shape) {
  if (schedule.chunks == 1 && shape.chunks > 1) {
    fail_input({}, fmt::format("--chunks: the schedule {} has one chunk per stage", schedule.name),
               "choose interleaved-1f1b");
  }
  if (schedule.chunks > 0) shape.chunks = schedule.chunks;
  if (schedule.in_groups && shape.microbatches % shape.stages != 0) {
    fail_infeasible({}, fmt::format("{} needs microbatches in groups of {}, one per stage; {} cannot be divided",
                                    schedule.name, shape.stages, shape.microbatches));
  }
  if (const auto unfit = schedule.unfit(shape)) fail_infeasible({}, unfit->message);
}

ClockedSubject profiled(const FrontierOptions& options) {
  if (!options.overrides.empty()) fail_input({}, "--set belongs to a scenario, not to a profile");
  if (options.import.given()) {
    fail_input({}, "--nodes, --env, --arg, --launch and --from belong to a launch script, not to a profile");
  }
  PipelineShape shape;
  shape.stages = whole_number("stages", options.stages, kMaxStages);
  shape.microbatches = whole_number("microbatches", options.microbatches, kMaxMicrobatches);
  shape.chunks = whole_number("chunks", options.chunks, kMaxStages);
  shape.group = shape.stages;
  if (std::int64_t(2) * shape.stages * shape.microbatches * shape.chunks > kMaxProfilePasses) {
    fail_input({}, fmt::format("more than {} passes", kMaxProfilePasses), "choose fewer --microbatches");
  }
  const ScheduleId asked = asked_schedule(options);
  const Schedule& schedule = schedule_of(asked);
  check_shape(schedule, shape);
  ClockedSubject out;
  out.title = fmt::format("{}: {}{}, {}, {}", options.profile, counted_text(shape.stages, "stage"),
                          shape.chunks > 1 ? fmt::format(" of {} chunks", shape.chunks) : std::string(),
                          counted_text(shape.microbatches, "microbatch"), schedule.name);
  out.stragglers = options.stragglers;
  out.clocked = profiled_pipeline(read_stage_profile(options.profile), shape, asked, options.blocking_power);
  out.notes = notes_on_choices(out.clocked);
  if (options.blocking_power == 0) {
    out.notes.emplace_back("without --blocking-power waiting counts nothing, so that the slowest clocks look best");
  }
  return out;
}

// Returns the seconds of --switch-time.
double switch_time_of(const std::string& text) {
  constexpr double kLongest = 10;
  const std::optional<double> seconds = seconds_in(text);
  if (seconds && *seconds >= 0 && *seconds <= kLongest) return *seconds;
  fail_input({}, fmt::format("--switch-time: expected a time up to {:g} s, found {}", kLongest, excerpt(text)),
             "such as 0, 500us, 1ms or 0.01s");
}

FrontierUnits units_of(const FrontierOptions& options) {
  FrontierUnits out = FrontierUnits::of(choice("--unit", options.unit, FrontierUnits::unit_names()), options.joint);
  if (!out.parts && !out.joint && !options.switch_time.empty()) {
    fail_input({}, "--switch-time is of clocks inside passes", "add --unit part or --joint");
  }
  out.change_s = options.switch_time.empty() ? FrontierUnits::kUsualChange_s : switch_time_of(options.switch_time);
  if (!out.joint && !options.communication_sms.empty()) {
    fail_input({}, "--communication-sms belongs to --joint",
               "--set strategy.communication_sms=N holds for all passes of the job");
  }
  for (const int multiprocessors : options.communication_sms) {
    if (multiprocessors >= 1 && multiprocessors <= strategy_limits::kChannels) continue;
    fail_input({}, fmt::format("--communication-sms: expected a number from 1 to {}, found {}",
                               strategy_limits::kChannels, multiprocessors));
  }
  out.communication_sms = options.communication_sms;
  if (out.joint && out.communication_sms.empty()) out.communication_sms = FrontierUnits::usual_communication_sms();
  return out;
}

DocumentSubject simulated(const FrontierOptions& options, const FrontierUnits& units) {
  const bool of_profile = options.stages || options.microbatches || !options.schedule.empty() || options.chunks != 1;
  if (of_profile || options.blocking_power != 0) {
    fail_input({}, "--stages, --microbatches, --schedule, --chunks and --blocking-power belong to --profile",
               "a scenario states these itself; override its keys with --set");
  }
  const ScenarioSources sources(data_folders(options.data));
  const Document document = scenario_document(options.scenario, options.import, options.overrides, sources);
  return clocked_subject(document, sources, options.stragglers, units);
}

}  // namespace

CommandOutput run_frontier(std::span<const std::string> arguments, const Surroundings& surroundings) {
  FrontierOptions options;
  CommandSyntax syntax = syntax_for(options);
  const bool has_profile = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--profile" || argument.starts_with("--profile=");
  });
  if (!has_profile) syntax.operand = &options.scenario;
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};
  const OutputFormat format = format_or_csv_choice(options.format);
  check_numbers(options);

  const FrontierUnits units = units_of(options);
  if (has_profile && (units.parts || units.joint)) {
    fail_input({}, "--unit and --joint belong to a scenario: a profile does not say what passes consist of");
  }
  std::optional<DocumentSubject> of_scenario;
  if (!has_profile) of_scenario = simulated(options, units);
  const ClockedSubject subject = has_profile ? profiled(options) : std::move(of_scenario->subject);
  const Frontier found = frontier(subject.clocked, subject.stragglers);
  FrontierReport report{subject.title, subject.clocked, found, subject.notes};
  if (of_scenario && of_scenario->scenario) report.steps = frontier_steps(*of_scenario->scenario, units, found);
  if (!options.plan.empty()) write_text_file(options.plan, printed_json(clock_plan_json(report)));
  if (!options.out.empty()) write_text_file(options.out, frontier_csv(found));
  if (!options.report.empty()) {
    write_text_file(options.report, page_of(frontier_page_data(report, surroundings.seconds_so_far())));
  }

  CommandOutput output;
  if (format == OutputFormat::text) {
    output.text = frontier_text(report);
  } else {
    const nlohmann::ordered_json json = frontier_json(report, surroundings.seconds_so_far());
    output.text = format == OutputFormat::csv ? csv_of_json(json["plans"]) : printed_json(json);
  }
  return output;
}

}  // namespace mirfak
