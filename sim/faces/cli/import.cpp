#include "base/origin.hpp"
#include "base/staged_file.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/import_options.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "import/import_report.hpp"

#include "comparison/log_comparison.hpp"
#include "import/training_log.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <utility>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct ImportCommand {
  std::vector<std::string> files;
  ImportOptions import;
  std::string with;
  std::string out;
  std::string runs;
  std::string format;
  std::string data;
};

CommandSyntax syntax_for(ImportCommand& options) {
  CommandSyntax syntax(
      "mirfak import FILE... [OPTION]...",
      "Reads what a training is started with (a launch script, arguments, a configuration file) and says of every\n"
      "setting what it means. The first FILE may be followed by files that it refers to, and by output of the "
      "cluster's\n"
      "tools: sinfo, scontrol show node or nvidia-smi topo -m, or a SkyPilot task. Nothing is executed. Of a log of a\n"
      "training, also says how long its steps took.");
  syntax.operands = &options.files;
  options.import.add_to(syntax);
  add_log_options(syntax, options.with, options.import.run);
  auto add = syntax.options.add_options();
  syntax.add_file(FileRole::output, "out", options.out, "FILE.yaml", "write the scenario, each key with its origin");
  syntax.add_file(FileRole::output, "runs", options.runs, "RUNS.csv",
                  "of a log, with --out: write its measured time as a row for mirfak validate");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json"), "what to print");
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  return syntax;
}

bool is_log(const std::vector<std::string>& files, const ScenarioSources& sources) {
  return !files.empty() && is_training_log(read_import_file(files.front()), sources.folders.hardware);
}

void refuse_options_of_logs(const ImportCommand& options) {
  const std::pair<bool, const char*> all[] = {
      {!options.with.empty(), "--with"}, {options.import.run != 0, "--run"}, {!options.runs.empty(), "--runs"}};
  for (const auto& [given, name] : all) {
    if (given)
      fail_input({}, fmt::format("{} is of a log, and {} is none", name, options.files.empty() ? "" : options.files[0]),
                 "leave it out");
  }
}

// Returns the measured time of a run if the log alone decides it; `why`: becomes the reason if it does not.
std::optional<MeasuredSteps> measured_alone(const LoggedRun& run, const std::string& log, std::string& why) {
  try {
    return steps_of(run, sizes_of(run), log);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    why = error.message();
    return std::nullopt;
  }
}

// Prints what a log states, completed by --with, and its measured time.
CommandOutput import_log(const ImportCommand& options, OutputFormat format, const ScenarioSources& sources) {
  if (!options.runs.empty() && options.out.empty()) {
    fail_input({}, "--runs writes a row that names the scenario, and no scenario is written",
               "give --out FILE.yaml, too");
  }
  const std::string& log = options.files.front();
  if (options.with.empty() && options.runs.empty()) {
    const ImportedJob job = import_files(options.files, options.import, sources);
    const LoggedRun run = logged_run(options.files, options.import, sources);
    std::string why;
    const std::optional<MeasuredSteps> measured = measured_alone(run, log, why);
    if (!options.out.empty()) write_text_file(options.out, origin_comment() + imported_yaml(job));
    if (format == OutputFormat::json) {
      nlohmann::ordered_json out = import_json(job);
      out["measured"] = measured ? measured_json(*measured) : nlohmann::ordered_json(nullptr);
      return {printed_json(std::move(out)), {}};
    }
    return {import_text(job) + fmt::format("Measured: {}\n", measured ? measured_text(*measured) : why), {}};
  }
  const LoggedJob job = logged_job(options.files, options.import, options.with, sources);
  const std::string scenario =
      origin_comment() + fmt::format("# Made by mirfak import of {}\n", log) + job.scenario.to_yaml();
  if (!options.out.empty()) write_text_file(options.out, scenario);
  if (!options.runs.empty()) {
    const std::filesystem::path folder = std::filesystem::absolute(options.runs).parent_path();
    const std::string path = std::filesystem::absolute(options.out).lexically_relative(folder).string();
    write_text_file(options.runs, measured_row(path, log, job.measured));
  }
  if (format == OutputFormat::json) {
    return {printed_json({{"file", log},
                          {"program", job.run.program},
                          {"measured", measured_json(job.measured)},
                          {"notes", job.notes},
                          {"scenario", scenario}}),
            {}};
  }
  std::string text =
      fmt::format("{}: a log of {}\n\nMeasured\n  {}\n", log, job.run.program, measured_text(job.measured));
  if (!job.notes.empty()) text += "\nNotes\n";
  for (const std::string& note : job.notes) text += fmt::format("  {}\n", note);
  return {text + "\nScenario\n" + scenario, {}};
}

}  // namespace

CommandOutput run_import(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  ImportCommand options;
  const CommandSyntax syntax = syntax_for(options);
  if (const std::optional<std::string> help = read_arguments(syntax, arguments)) return {*help, {}};
  const OutputFormat format = format_choice(options.format);
  const ScenarioSources sources(data_folders(options.data));
  if (is_log(options.files, sources)) return import_log(options, format, sources);
  refuse_options_of_logs(options);
  const ImportedJob job = import_files(options.files, options.import, sources);
  if (!options.out.empty()) write_text_file(options.out, origin_comment() + imported_yaml(job));
  if (format == OutputFormat::json) return {printed_json(import_json(job)), {}};
  return {import_text(job), {}};
}

}  // namespace mirfak
