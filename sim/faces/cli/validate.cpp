#include "base/csv.hpp"
#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/import_options.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "comparison/log_comparison.hpp"
#include "import/training_log.hpp"
#include "page/page_data.hpp"
#include "recording/recording_files.hpp"
#include "scenario/idle_keys.hpp"
#include "strategy/framework_catalog.hpp"
#include "trace/recording_comparison_report.hpp"
#include "trace/trace_comparison_report.hpp"
#include "validation/validate_runs.hpp"
#include "validation/validation_markdown.hpp"
#include "validation/validation_plots.hpp"
#include "validation/validation_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct ValidateOptions {
  std::vector<std::string> files;
  std::vector<std::string> first_contacts;
  std::string format;
  std::string out;
  std::string report;
  std::string ranges;
  std::string tiers;
  int worst = 0;
  int line = 0;
  std::string map;
  ImportOptions import;
  std::string with;
  std::string data;
};

// Return paths next to the report: of its plots, and of the reasons of errors, which are read if the file is there.
std::filesystem::path plot_beside(std::filesystem::path report) { return report.replace_extension(".svg"); }
std::filesystem::path ranges_plot_beside(const std::filesystem::path& report) {
  return report.parent_path() / (report.stem().string() + "-ranges.svg");
}
std::filesystem::path findings_beside(const std::filesystem::path& report) {
  return report.parent_path() / "findings.yaml";
}

// True if the report is a page. A page holds its plots; a report in Markdown has them next to it.
bool is_page(const std::filesystem::path& report) { return report.extension() == ".html"; }

CommandSyntax syntax_for(ValidateOptions& options) {
  CommandSyntax syntax(
      "mirfak validate RUNS.csv... | TRAIN.log --with FILE | PREDICTED.h5 MEASURED.h5 | PREDICTED.h5 TRACE [OPTION]...",
      "Simulates every measured training run of the tables RUNS.csv, and says how far the predictions are off:\n"
      "mean absolute error (MAPE), median, 90th percentile, rank correlation. A row that is not understood, or cannot\n"
      "be simulated, is listed with the reason. Files say what columns and words mean (validate/published/README.md);\n"
      "`mirfak list words` prints the words, and NAME.map.yaml next to NAME.csv adds more.\n"
      "The log of one run, with the script or scenario that it was started with, is set beside its prediction.\n"
      "Two traces of one program, from `mirfak simulate` and from `mirfak-measure run`, are compared task by task: by\n"
      "kind, stage and rank, with both critical paths, and with the reasons why the iterations differ. A trace of "
      "PyTorch's\n"
      "profiler or Nsight Systems is compared by class of kernel, stream and path of its rank, step by step "
      "on "
      "average.");
  syntax.operands = &options.files;
  auto add = syntax.options.add_options();
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json"), "what to print");
  syntax.add_file(FileRole::output, "out", options.out, "ERRORS.csv",
                  "write a row per run, or per task: predicted, measured, error");
  syntax.add_file(FileRole::output, "report", options.report, "REPORT.md",
                  "write an error report and its plots (SVG), with reasons from findings.yaml in the same folder; or a "
                  "page (REPORT.html)");
  syntax.add_file(
      FileRole::output, "ranges", options.ranges, "RANGES.yaml",
      "fit the range around a prediction to these runs, as in hw_profiles/ranges.yaml; each table is judged "
      "by a fit to the others");
  syntax.add_files(FileRole::input, "first-contact", options.first_contacts, "RUNS.csv",
                   "runs that were predicted before anyone saw their measurement: --ranges fits the range of software "
                   "and machines that nobody has measured to them, --report lists their errors then and now");
  add("tiers", po::value(&options.tiers)->default_value("AB")->value_name("LETTERS"),
      "grades of the rows to use; rows without a grade are always used");
  add("worst", po::value(&options.worst)->default_value(10)->value_name("N"),
      "how many of the worst rows, or operators, to list");
  add("line", po::value(&options.line)->default_value(0)->value_name("LINE"),
      "print only how the row at this line is read, and its scenario");
  syntax.add_file(FileRole::input, "map", options.map, "MAP.yaml",
                  "read the tables by this mapping file before the common vocabulary");
  add_log_options(syntax, options.with, options.import.run);
  options.import.add_to(syntax);
  add("data", data_folder_option(options.data), "holds models/, hw_profiles/ and validate/published/");
  syntax.more_files = [&](std::vector<FileArgument>& files) {
    if (options.report.empty() || is_page(options.report)) return;
    files.push_back({FileRole::output, "the plot of --report", plot_beside(options.report)});
    files.push_back({FileRole::output, "the plot of ranges of --report", ranges_plot_beside(options.report)});
    files.push_back({FileRole::input, "the findings of --report", findings_beside(options.report)});
  };
  return syntax;
}

void write_report(const ValidateOptions& options, const std::vector<ValidationTable>& tables,
                  const std::vector<ValidationTable>& first_contacts) {
  const std::filesystem::path report = options.report;
  if (is_page(report)) {
    write_text_file(report, page_of(validation_page_data(tables, options.tiers)));
    return;
  }
  const std::filesystem::path plot = plot_beside(report);
  const std::filesystem::path findings = findings_beside(report);
  const Findings found = std::filesystem::exists(findings) ? load_findings(findings) : Findings{};
  const std::filesystem::path ranges_plot = ranges_plot_beside(report);
  const ReportPlots plots{plot.filename().string(), ranges_plot.filename().string()};
  const std::vector<Reliability> reliability = reliability_of_tables(tables);
  write_text_file(plot, validation_plot(tables));
  if (!reliability.empty()) write_text_file(ranges_plot, reliability_svg(reliability));
  write_text_file(report, validation_markdown(tables, found, plots, first_contacts));
}

constexpr double kRangeLevel = 0.8;  // share of the measurements that lie in their ranges
// Rows that judge predictions, some with inferred values: runs as users bring them, too.
constexpr const char* kSeenTiers = "AB";
constexpr int kOwnRuns = 3;  // number of own runs whose prediction of other runs is judged

constexpr const char* kNothingOfOwnRuns =
    "\nWhat own runs are weighed against cannot be told: that needs three tables with four runs and more on one type "
    "of "
    "nodes\nunder one framework\n";

constexpr const char* kNothingOfMemory =
    "\nRanges of peak memory cannot be told: two tables have to state what was allocated\n";

constexpr const char* kNothingOfPower =
    "\nRanges of power cannot be told: two tables have to state what GPUs drew (measured.gpu_power_w)\n";

std::vector<ValidatedRun> counted_runs(const std::vector<ValidationTable>& tables, const std::string& tiers) {
  std::vector<ValidatedRun> runs = all_runs(tables);
  std::erase_if(runs, [&](const ValidatedRun& run) { return !counts(run, tiers); });
  return runs;
}

struct FittedRanges {
  std::string file;
  std::string text;  // reliability of the ranges, for people
};

FittedRanges fitted_ranges(const std::string& tiers, const std::vector<ValidationTable>& tables,
                           const std::vector<ValidationTable>& first_contacts,
                           std::span<const std::string> frameworks) {
  const std::vector<ValidatedRun> known = counted_runs(tables, tiers);
  std::vector<ValidatedRun> runs = known;
  for (ValidatedRun& run : counted_runs(first_contacts, kSeenTiers)) runs.push_back(std::move(run));
  const auto scored = std::count_if(runs.begin(), runs.end(), [](const ValidatedRun& run) { return run.scored(); });
  const auto measured = std::make_shared<const MeasuredSoftware>(measured_software(counted_runs(tables, kSeenTiers)));
  const LeftOutRanges left_out = judge_range_widths(runs, kRangeLevel, measured);
  const std::string source =
      fmt::format("{} measured runs in {} tables (tiers {})", scored, left_out.tables.size(), tiers);
  const std::optional<SpreadOfTables> own = spread_of_tables(known, kRangeLevel, kOwnRuns);
  const std::optional<MemoryRanges> memory = fit_memory_ranges(known, kRangeLevel);
  const std::optional<PowerRanges> power = fit_power_ranges(known, kRangeLevel);
  return {ranges_yaml(fit_range_widths(runs, kRangeLevel, measured), left_out, source, frameworks) +
              (memory ? memory_ranges_yaml(*memory) : "") + (power ? power_ranges_yaml(*power) : "") +
              (own ? own_runs_yaml(*own) : ""),
          "\n" + ranges_text(left_out) + (memory ? memory_ranges_text(memory->left_out) : kNothingOfMemory) +
              (power ? power_ranges_text(power->left_out) : kNothingOfPower) +
              (own ? own_runs_text(own->left_out) : kNothingOfOwnRuns)};
}

// Returns the scenario of a row, after comments on how the row was read.
CommandOutput row_at(const ValidationTable& table, int line) {
  for (const ValidatedRun& run : table.runs) {
    if (run.run.where.line != line) continue;
    std::string text = fmt::format("# {}\n", run.run.where.text());
    std::istringstream reading(run.reading);
    for (std::string each; std::getline(reading, each);) text += "# " + each + "\n";
    if (!run.assumed.empty()) text += "# assumed, so that it fits: " + run.assumed + "\n";
    if (run.skipped.empty() || run.refusal == std::nullopt) text += run.scenario;
    if (run.skipped.empty()) return {text, {}};
    return {text, fmt::format("{}: {}\n", (run.refusal ? run.refusal->where : run.run.where).text(), run.skipped),
            kStatusInfeasible};
  }
  fail_input({table.name, line, 0}, "no row of the table begins at this line");
}

bool is_trace(const std::string& file) { return std::filesystem::path(file).extension() == ".h5"; }

// Compares a prediction with a profiler's recording of one rank.
CommandOutput compare_recording(const ValidateOptions& options, OutputFormat format) {
  if (!options.out.empty()) {
    fail_input({}, "--out writes a row per task, and a profiler's recording has no tasks of the prediction",
               "use --format json");
  }
  const TraceFile predicted = read_trace(options.files[0]);
  const KernelClasses classes = KernelClasses::from_file(data_folders(options.data).hardware / "kernel_classes.yaml");
  const RecordingComparison comparison =
      compare_with_recording(predicted, read_recording(options.files[1], classes), classes);
  if (!options.report.empty()) {
    fail_input({}, "--report is a page of two traces with the same tasks, and a profiler's recording has its own",
               "use --format json");
  }
  if (format == OutputFormat::text) return {recording_comparison_text(comparison), {}};
  return {printed_json(recording_comparison_json(comparison)), {}};
}

CommandOutput compare(const ValidateOptions& options, OutputFormat format) {
  if (!options.ranges.empty() || options.line > 0) {
    fail_input({}, "--ranges and --line are for tables of runs");
  }
  if (!options.report.empty() && !is_page(options.report)) {
    fail_input({}, "--report in Markdown is for tables of runs, and of traces it is a page",
               "give it a name that ends in .html");
  }
  if (options.files.size() == 2 && is_trace(options.files[0]) && is_recording_file(options.files[1])) {
    return compare_recording(options, format);
  }
  if (options.files.size() != 2 || !is_trace(options.files[0]) || !is_trace(options.files[1])) {
    fail_input({}, "traces are compared in pairs",
               "give PREDICTED.h5 MEASURED.h5, or PREDICTED.h5 TRACE, and nothing else");
  }
  const TraceFile predicted = read_trace(options.files[0]);
  const TraceFile measured = read_trace(options.files[1]);
  const TraceComparison comparison = compare_traces(predicted, measured);
  if (!options.out.empty()) write_text_file(options.out, comparison_csv(predicted, measured));
  if (!options.report.empty()) write_text_file(options.report, page_of(traces_page_data(comparison)));
  return {format == OutputFormat::json ? printed_json(comparison_json(comparison))
                                       : comparison_text(comparison, options.worst),
          {}};
}

bool is_log(const std::string& file, const DataFolders& folders) {
  const std::filesystem::path path = file;
  if (path.extension() == ".csv" || !std::filesystem::is_regular_file(path)) return false;
  if (!is_recording_file(path)) return is_training_log(read_import_file(file), folders.hardware);
  try {
    return is_training_log(read_import_file(file), folders.hardware);
  } catch (const Error&) {
    return false;  // recordings may be larger than any log
  }
}

// Refuses a recording without a prediction to compare it with.
void refuse_recording(const std::string& file) {
  if (!std::filesystem::is_regular_file(file) || !is_recording_file(file)) return;
  fail_input({file, 0, 0}, "this is a profiler's recording, and no table of runs",
             fmt::format("mirfak trace {0} shows what ran; mirfak simulate SCENARIO --detail operators --trace "
                         "predicted.h5, then mirfak validate predicted.h5 {0} compares",
                         shell_quoted(file)));
}

// Refuses options that mean nothing for a log.
void check_log_options(const ValidateOptions& options) {
  const std::pair<bool, const char*> others[] = {
      {!options.out.empty(), "--out"},       {!options.report.empty(), "--report"},
      {!options.ranges.empty(), "--ranges"}, {!options.first_contacts.empty(), "--first-contact"},
      {options.line > 0, "--line"},          {!options.map.empty(), "--map"}};
  for (const auto& [given, name] : others) {
    if (given)
      fail_input({}, fmt::format("{} is of tables of runs, and {} is a log", name, options.files.front()),
                 "make a row of the log: mirfak import LOG --with FILE --out RUN.yaml --runs RUNS.csv");
  }
}

// Compares the measured time of a log with its prediction.
CommandOutput compare_log(const ValidateOptions& options, OutputFormat format, const Surroundings& surroundings) {
  check_log_options(options);
  const ScenarioSources sources(data_folders(options.data));
  LoggedJob job = logged_job(options.files, options.import, options.with, sources);
  Scenario scenario = parse_scenario(job.scenario, sources);
  Simulation simulation = simulate(scenario.job);
  std::vector<std::string> notes = notes_on_keys(scenario, sources, simulation.result);
  const LogComparison comparison{options.files.front(), job.run.program,      job.measured,    std::move(scenario),
                                 std::move(simulation), std::move(job.notes), std::move(notes)};
  if (format == OutputFormat::json)
    return {printed_json(log_comparison_json(comparison, surroundings.seconds_so_far())), {}};
  return {log_comparison_text(comparison), {}};
}

void refuse_options_of_logs(const ValidateOptions& options) {
  if (options.with.empty() && options.import.run == 0 && !options.import.given()) return;
  fail_input({}, "--with, --run and options of launch files are of a log, and the files are none",
             "leave them out, or give a log");
}

}  // namespace

CommandOutput run_validate(std::span<const std::string> arguments, const Surroundings& surroundings) {
  ValidateOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_choice(options.format);
  if (options.worst < 0) fail_input({}, fmt::format("--worst: expected 0 or more, found {}", options.worst));
  if (std::any_of(options.files.begin(), options.files.end(), is_trace)) return compare(options, format);
  const DataFolders folders = data_folders(options.data);
  if (!options.files.empty() && is_log(options.files.front(), folders))
    return compare_log(options, format, surroundings);
  refuse_options_of_logs(options);
  for (const std::string& file : options.files) refuse_recording(file);

  const RunMappings mappings = RunMappings::from_folder(mapping_folder(options.data));
  check_tiers("--tiers", options.tiers, mappings.vocabulary());
  std::optional<RunMapping> own;
  if (!options.map.empty()) own = mappings.own(options.map);

  const bool fits_ranges = !options.ranges.empty();
  const bool lists_first_contacts = !options.report.empty() && !is_page(options.report);
  if (!options.first_contacts.empty() && !fits_ranges && !lists_first_contacts) {
    fail_input({}, "--first-contact has no use without --ranges or --report REPORT.md",
               "give these tables as RUNS.csv to score them");
  }
  const auto validated = [&](const std::string& file, bool sensitivities) {
    CsvTable table = CsvTable::from_file(file);
    if (options.line > 0) table = table.only_line(options.line);
    return ValidationTable{std::filesystem::path(file).stem().string(),
                           validate_runs(table, mappings, folders, own ? &*own : nullptr, sensitivities)};
  };
  std::vector<ValidationTable> tables;
  for (const std::string& file : options.files) {
    tables.push_back(validated(file, fits_ranges));
    if (options.line > 0) return row_at(tables.front(), options.line);
  }
  std::vector<ValidationTable> first_contacts;
  for (const std::string& file : options.first_contacts) {
    first_contacts.push_back(validated(file, false));
    for (ValidatedRun& run : first_contacts.back().runs) run.first_contact = true;
  }
  FittedRanges ranges;  // fitted before anything is written, as fitting may fail
  if (fits_ranges) {
    ranges = fitted_ranges(options.tiers, tables, first_contacts, FrameworkCatalog(folders.hardware).names());
  }
  if (!options.report.empty()) write_report(options, tables, first_contacts);
  if (!options.ranges.empty()) write_text_file(options.ranges, ranges.file);
  if (!options.out.empty()) write_text_file(options.out, validation_csv(tables));
  CommandOutput output;
  output.text = format == OutputFormat::json ? printed_json(validation_json(tables, options.tiers))
                                             : validation_text(tables, options.tiers, options.worst) + ranges.text;
  return output;
}

}  // namespace mirfak
