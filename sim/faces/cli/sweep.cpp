#include "base/error.hpp"
#include "base/interrupt_watch.hpp"
#include "base/key_path.hpp"
#include "base/section.hpp"
#include "base/staged_file.hpp"
#include "base/units.hpp"
#include "capture/capture_file.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/import_options.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "cli/sweep_points.hpp"
#include "page/page_data.hpp"
#include "report/job_text.hpp"
#include "sweep/journal.hpp"
#include "sweep/merge.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/sweep_estimate.hpp"
#include "sweep/sweep_hdf5.hpp"
#include "sweep/sweep_page.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

namespace po = boost::program_options;

constexpr std::int64_t kUsualPoints = 10'000'000;    // a table of so many points takes some 6 GB of memory
constexpr std::uint64_t kPointsToAnnounce = 10'000;  // fewer points are done before their time is estimated

struct Options {
  std::vector<std::string> files;  // the sweep, or with --merge the shards' tables
  std::string out;
  std::string merge;
  std::string report;
  std::string shard;
  std::vector<std::string> overrides;
  SweepOptions run;
  std::int64_t points = kUsualPoints;
  bool estimate = false;
  std::string format;
  ImportOptions import;
  std::string data;
};

CommandSyntax syntax_for(Options& options) {
  CommandSyntax syntax(
      "mirfak sweep SWEEP.yaml --out R.h5 [OPTION]...\n       mirfak sweep --merge R.h5 SHARD.h5...",
      "Simulates every point of a scenario with axes, and writes one HDF5 table. Each point is a row: its place on\n"
      "the axes, its results and its scenario, or the reason why it cannot run. Finished points are kept in\n"
      "R.h5.part until the table is written, however the run ends; --resume continues from there.");
  syntax.operands = &options.files;
  auto add = syntax.options.add_options();
  syntax.add_file(FileRole::output, "out", options.out, "R.h5", "the table to write");
  add("resume", po::bool_switch(&options.run.resume), "continue an interrupted run, if there is one");
  add("shard", po::value(&options.shard)->value_name("I/N"),
      "simulate only part I of N equal parts, counted from 1: for job arrays");
  syntax.add_file(FileRole::output, "merge", options.merge, "R.h5", "put the tables of all shards together instead");
  syntax.add_file(FileRole::output, "report", options.report, "FILE.html",
                  "write a page with the points as a table and a plot");
  add("jobs", po::value(&options.run.jobs)->default_value(0)->value_name("N"), "threads; 0: one for each core");
  add("points", po::value(&options.points)->default_value(kUsualPoints)->value_name("N"),
      "refuse a sweep of more points, with an estimate of the time that it would take");
  add("estimate", po::bool_switch(&options.estimate), "print how long the run would take, and run nothing");
  add("set", po::value(&options.overrides)->value_name("KEY=VALUE"), "override a key of the scenario; may be repeated");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json"), "what to print");
  options.import.add_to(syntax);
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  syntax.more_files = [&](std::vector<FileArgument>& files) {
    if (options.out.empty()) return;
    files.push_back({FileRole::output, "the finished points of --out", journal_of(options.out)});
  };
  return syntax;
}

int read_positive(std::string_view text) {
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size() && number > 0 ? number : 0;
}

void read_shard(const std::string& text, SweepOptions& run) {
  if (text.empty()) return;
  constexpr int max_shards = 1 << 20;
  const std::size_t slash = std::min(text.find('/'), text.size());
  run.shard = read_positive(std::string_view(text).substr(0, slash));
  run.shards = slash == text.size() ? 0 : read_positive(std::string_view(text).substr(slash + 1));
  if (run.shard < 1 || run.shards < 1 || run.shard > run.shards || run.shards > max_shards) {
    fail_input({}, fmt::format("--shard: expected I/N with 1 <= I <= N, found '{}'", text), "for example --shard 3/8");
  }
}

// True for statuses whose reason is shown. Points that cannot run need none: a sweep is asked where they begin.
bool needs_reason(PointStatus status) { return status == PointStatus::input || status == PointStatus::internal; }

std::string text_of(const std::string& out, const SweepOutcome& outcome) {
  Table table("|>|", 2);
  for (std::size_t i = 0; i < kPointStatuses; ++i) {
    if (outcome.by_status[i] == 0) continue;
    const auto status = static_cast<PointStatus>(i);
    table.add({std::string(name_of(status)), std::to_string(outcome.by_status[i]),
               needs_reason(status) ? outcome.reasons[i] : ""});
  }
  const std::string points = outcome.table ? points_text(*outcome.table) : "";
  return fmt::format("{}: {} points\n{}{}{}", out, outcome.points, table.text(), points, notes_text(outcome.notes));
}

nlohmann::ordered_json json_of(const std::string& out, const SweepOutcome& outcome, const Surroundings& surroundings) {
  nlohmann::ordered_json json = {{"out", out}, {"points", outcome.points}, {"resumed", outcome.before}};
  auto reasons = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kPointStatuses; ++i) {
    const std::string name(name_of(static_cast<PointStatus>(i)));
    json[name] = outcome.by_status[i];
    if (!outcome.reasons[i].empty()) reasons[name] = outcome.reasons[i];
  }
  json["reasons"] = reasons;
  json["notes"] = outcome.notes;
  json["wall_time_s"] = surroundings.seconds_so_far();
  return json;
}

std::string printed(const std::string& out, const SweepOutcome& outcome, OutputFormat format,
                    const Surroundings& surroundings) {
  return format == OutputFormat::json ? printed_json(json_of(out, outcome, surroundings)) : text_of(out, outcome);
}

void write_report(const std::string& report, const std::string& out, const SweepTable& table,
                  const SweepOutcome& outcome, const Surroundings& surroundings) {
  nlohmann::ordered_json data = sweep_page_data(table, json_of(out, outcome, surroundings));
  data["title"] = "Points of " + std::filesystem::path(out).filename().string();
  data["text"] = text_of(out, outcome);
  write_text_file(report, page_of(data));
}

CommandOutput run_merge(const Options& options, OutputFormat format, const Surroundings& surroundings) {
  const bool other = !options.out.empty() || options.run.resume || !options.shard.empty() || !options.overrides.empty();
  if (other) fail_input({}, "--merge takes only the tables to merge, no options of a run", "see mirfak sweep --help");
  if (is_being_written(journal_of(options.merge))) fail_running(journal_of(options.merge));
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  const SweepTable table = merge_sweeps(files, options.merge);
  SweepOutcome outcome;
  outcome.points = table.rows();
  tell(table, outcome);
  if (!options.report.empty()) write_report(options.report, options.merge, table, outcome, surroundings);
  return {printed(options.merge, outcome, format, surroundings), {}};
}

// Estimates the work before it starts, if the estimate is asked for, worth saying, or too high.
std::optional<CommandOutput> estimated(const SweepFile& sweep, const DataFolders& folders, const Options& options,
                                       OutputFormat format, const Surroundings& surroundings) {
  const bool refused = sweep.points() > static_cast<std::uint64_t>(options.points);
  const bool announced = surroundings.progress && sweep.points() >= kPointsToAnnounce;
  if (!refused && !announced && !options.estimate) return std::nullopt;
  const SweepEstimate estimate = estimate_sweep(sweep, folders, options.run);
  if (options.estimate) {
    if (format == OutputFormat::text) return CommandOutput{estimate_text(estimate) + "\n", {}};
    const nlohmann::ordered_json json = {{"points", estimate.points},         {"sampled", estimate.sampled},
                                         {"threads", estimate.threads},       {"seconds", estimate.seconds},
                                         {"disk_bytes", estimate.disk_bytes}, {"memory_bytes", estimate.memory_bytes}};
    return CommandOutput{printed_json(json), {}};
  }
  if (refused) {
    fail_input({options.files.front(), 0, 0},
               fmt::format("the axes make {} points, and --points allows {}\n  {}", sweep.points(), options.points,
                           estimate_text(estimate)),
               fmt::format("fewer values on the axes, or --points {} to run them all", sweep.points()));
  }
  surroundings.progress(estimate_text(estimate) + "\n");
  return std::nullopt;
}

// Reads a sweep. A base that is a file of a training program is replaced by the scenario that import makes of it.
SweepFile read_sweep(const Options& options, const DataFolders& folders) {
  Document document = Document::from_file(options.files.front());
  const Value* base = document.root().kind == Value::Kind::mapping ? document.root().find("scenario") : nullptr;
  if (base != nullptr && base->kind == Value::Kind::scalar) {
    const std::string path = (std::filesystem::path(options.files.front()).parent_path() / base->scalar).string();
    const ScenarioSources sources(folders);
    if (options.import.given() || is_import_file(path, sources) || is_capture(path)) {
      const Location where = base->where;
      const Document scenario = scenario_document(path, options.import, {}, sources);
      document.assign(KeyPath("scenario", where), scenario.root(), where);
    }
  } else if (options.import.given()) {
    fail_input({options.files.front(), 0, 0},
               "--nodes, --env, --arg, --launch, --cluster and --from are for a launch file",
               "name one under scenario:, or leave them out");
  }
  return parse_sweep(document, options.overrides);
}

CommandOutput interrupted(const Options& options, const SweepOutcome& outcome) {
  CommandOutput output;
  output.complaint =
      fmt::format("interrupted: {} of {} points are kept in {}\n  go on with the same command and --resume",
                  outcome.done, outcome.points, journal_of(options.out).string());
  output.status = kStatusInterrupted;
  return output;
}

}  // namespace

CommandOutput run_sweep_command(std::span<const std::string> arguments, const Surroundings& surroundings) {
  Options options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_choice(options.format);
  if (!options.merge.empty()) return run_merge(options, format, surroundings);
  if (options.files.size() > 1) fail_input({}, "expected one sweep file", "several tables need --merge R.h5");
  if (options.out.empty() && !options.estimate)
    fail_input({}, "--out is missing: the table to write", "for example --out results.h5");
  if (options.run.jobs < 0) fail_input({}, fmt::format("--jobs: expected 0 or more, found {}", options.run.jobs));
  if (options.points < 1) fail_input({}, fmt::format("--points: expected 1 or more, found {}", options.points));
  read_shard(options.shard, options.run);

  const DataFolders folders = data_folders(options.data);
  const SweepFile sweep = read_sweep(options, folders);
  if (auto output = estimated(sweep, folders, options, format, surroundings)) return *std::move(output);
  const InterruptWatch watch;
  options.run.interrupted = InterruptWatch::interrupted;
  options.run.progress = surroundings.progress;
  options.run.columns = surroundings.progress_columns;
  const SweepOutcome outcome = run_sweep(sweep, folders, options.out, options.run);
  if (!outcome.complete) return interrupted(options, outcome);
  if (!options.report.empty()) {
    SweepTable table = read_sweep_table(options.out);
    table.axes = axis_tables(sweep);
    write_report(options.report, options.out, table, outcome, surroundings);
  }
  return {printed(options.out, outcome, format, surroundings), {}};
}

}  // namespace mirfak
