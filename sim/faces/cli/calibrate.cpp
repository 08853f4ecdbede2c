#include "base/error.hpp"
#include "base/text.hpp"
#include "calibration/calibrated_tables.hpp"
#include "calibration/calibration_report.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "model/attention_kernels.hpp"
#include "validation/own_runs_report.hpp"
#include "validation/recorded_run_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct CalibrateOptions {
  std::vector<std::string> files;
  std::string gpu;
  std::string link;
  std::string precision;
  std::string attention;
  std::vector<std::string> only;
  std::string out;
  std::string source;
  bool score = false;
  std::string format;
  std::string data;
  std::string machine;
  std::string name;
  std::string trace;
  std::string scenario;
  std::string framework;
  std::string runs;
  std::string map;

  MachineToCalibrate machine_given() const { return {machine, name, out}; }
};

CommandSyntax syntax_for(CalibrateOptions& options) {
  CommandSyntax syntax(
      "mirfak calibrate TABLE.csv... | --trace TRACE | --runs RUNS.csv [OPTION]...",
      "Fits the constants of the cost models to tables of measured kernels or collectives; a third of the shapes is "
      "held\n"
      "out and scored. --machine makes a node type of the processor that mirfak-measure timed. --trace tells what a "
      "profiler\n"
      "recorded; with --scenario it corrects a node type, as --runs does by iterations that you measured.");
  syntax.operands = &options.files;
  syntax.instead_of_operands = {&options.trace, &options.runs};
  auto add = syntax.options.add_options();
  add("gpu", po::value(&options.gpu)->value_name("NAME"), "GPU on which the kernels ran");
  add("link", po::value(&options.link)->value_name("NAME"), "link over which the collectives ran");
  add("precision", po::value(&options.precision)->value_name("NAME"),
      "precision of the rows, if the table does not state it");
  add("attention", po::value(&options.attention)->default_value("trtllm")->value_name("NAME"),
      "generation of the attention kernels in the tables; mirfak-measure times cudnn");
  add("only", po::value(&options.only)->value_name("COLUMN=VALUE"),
      "use only rows with this value in the column; may be repeated");
  syntax.add_file(FileRole::as_added, "out", options.out, "PROFILE.yaml",
                  "profile to write the constants into; a new profile starts as a copy of that of --gpu or --link");
  syntax.add_file(FileRole::input, "machine", options.machine, "MACHINE.csv",
                  "make profiles of the machine described here");
  add("name", po::value(&options.name)->value_name("NAME"), "name of these profiles");
  add("trace", po::value(&options.trace)->value_name("TRACE"),
      "trace of PyTorch's profiler or of Nsight Systems, or a folder with a trace of each rank");
  syntax.add_file(FileRole::input, "scenario", options.scenario, "SCENARIO.yaml",
                  "the scenario that was recorded: correct its node type, and write the profile to --out");
  syntax.add_file(FileRole::output, "framework", options.framework, "FRAMEWORK.yaml",
                  "framework file to write the recorded issue times of the host into");
  syntax.add_file(FileRole::input, "runs", options.runs, "RUNS.csv",
                  "correct a node type by these measured runs, and write its profile to --out");
  syntax.add_file(FileRole::input, "map", options.map, "MAP.yaml",
                  "mapping file by which the runs are read, as in `mirfak validate`");
  add("source", po::value(&options.source)->value_name("TEXT"), "source of the tables, which the profile states");
  add("score", po::bool_switch(&options.score), "fit nothing; score the constants in the profile");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json"), "what to print");
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  syntax.more_files = [&](std::vector<FileArgument>& files) {
    std::error_code unknown;
    if (!options.trace.empty() && !std::filesystem::is_directory(options.trace, unknown)) {
      files.push_back({FileRole::input, "--trace", options.trace});
    }
    if (options.out.empty()) return;
    if (!options.runs.empty() || !options.trace.empty())
      return files.push_back({FileRole::output, "--out", options.out});
    if (options.machine.empty()) return files.push_back({FileRole::update, "--out", options.out});
    for (const std::filesystem::path& path : profiles_of(options.machine_given())) {
      files.push_back({FileRole::later_output, "--out", path});
    }
  };
  return syntax;
}

RowFilter filter_of(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0) {
    fail_input({}, fmt::format("--only {}: expected COLUMN=VALUE", excerpt(text)));
  }
  return {text.substr(0, sign), text.substr(sign + 1)};
}

std::vector<RowFilter> filters_of(const CalibrateOptions& options) {
  std::vector<RowFilter> out;
  for (const std::string& text : options.only) out.push_back(filter_of(text));
  return out;
}

void check_machine_options(const CalibrateOptions& options) {
  if (options.gpu.empty() && options.link.empty() && !options.score) return;
  fail_input({}, "--machine makes profiles: it takes neither --gpu nor --link nor --score");
}

// Refuses tables, options of tables, and options of other ways of calibrating.
void refuse_others(const CalibrateOptions& options, const std::string& way) {
  if (!options.files.empty()) {
    fail_input({}, fmt::format("{} and tables are not calibrated together", way),
               fmt::format("give either {} or TABLE.csv...", way));
  }
  const std::array<std::pair<const char*, bool>, 10> others = {{{"--trace", !options.trace.empty()},
                                                                {"--runs", !options.runs.empty()},
                                                                {"--gpu", !options.gpu.empty()},
                                                                {"--link", !options.link.empty()},
                                                                {"--precision", !options.precision.empty()},
                                                                {"--only", !options.only.empty()},
                                                                {"--out", !options.out.empty()},
                                                                {"--machine", !options.machine.empty()},
                                                                {"--name", !options.name.empty()},
                                                                {"--source", !options.source.empty()}}};
  const std::vector<std::string_view> with_runs = {"--out", "--only", "--source"};
  for (const auto& [name, given] : others) {
    const bool wanted = way == name || (way == "--trace" && std::string_view("--out") == name) ||
                        (way == "--runs" && std::find(with_runs.begin(), with_runs.end(), name) != with_runs.end());
    if (given && !wanted) fail_input({}, fmt::format("{} does not take {}", way, name));
  }
  if (options.score) fail_input({}, fmt::format("{} does not take --score", way));
}

CommandOutput of_trace(const CalibrateOptions& options, OutputFormat format) {
  refuse_others(options, "--trace");
  TraceToCalibrate given{options.trace, std::nullopt, options.out, options.framework};
  if (!options.scenario.empty()) given.scenario = Document::from_file(options.scenario);
  const CalibratedTrace found = calibrate_by_trace(given, data_folders(options.data));
  if (format == OutputFormat::text) return {calibrated_trace_text(found), {}};
  return {printed_json(calibrated_trace_json(found)), {}};
}

CommandOutput of_runs(const CalibrateOptions& options, OutputFormat format) {
  refuse_others(options, "--runs");
  const RunsToCalibrate given{options.runs, options.map, options.out, options.source, filters_of(options)};
  const CalibratedRuns found = calibrate_by_runs(given, options.data);
  if (format == OutputFormat::text) return {own_runs_text(found), {}};
  return {printed_json(own_runs_json(found)), {}};
}

CommandOutput of_tables(const CalibrateOptions& options, OutputFormat format) {
  const Catalog catalog(data_folders(options.data).hardware);
  CalibrationTarget target{catalog, options.gpu, options.link, {}, filters_of(options), options.source, options.score};
  if (!options.precision.empty()) {
    target.precision = static_cast<Precision>(choice("--precision", options.precision, precision_names()));
  }
  const std::vector<std::string>& kernels = attention_kernel_names();
  target.attention = kernels[choice("--attention", options.attention, kernels)];
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  if (!options.machine.empty()) check_machine_options(options);
  const CalibratedTables found = options.machine.empty() ? calibrate_tables(files, target, options.out)
                                                         : calibrate_machine(options.machine_given(), files, target);
  if (format == OutputFormat::text) return {calibration_text(found), {}};
  return {printed_json(calibration_json(found)), {}};
}

}  // namespace

CommandOutput run_calibrate(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  CalibrateOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_choice(options.format);
  if (!options.trace.empty()) return of_trace(options, format);
  if (!options.scenario.empty() || !options.framework.empty()) {
    fail_input({}, "--scenario and --framework belong to a recording: give --trace");
  }
  if (!options.runs.empty()) return of_runs(options, format);
  if (!options.map.empty()) fail_input({}, "--map says how --runs are read: give both");
  return of_tables(options, format);
}

}  // namespace mirfak
