#include "base/csv.hpp"
#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"
#include "report/trace_comparison_report.hpp"
#include "report/validation_markdown.hpp"
#include "report/validation_report.hpp"
#include "validation/validate_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct ValidateOptions {
  std::vector<std::string> files;
  std::string format;
  std::string out;
  std::string report;
  std::string tiers;
  int worst = 0;
  int line = 0;
  std::string map;
  std::string data;
};

// The plot stands beside the report; the reasons of errors are read from beside the report, if they are there.
std::filesystem::path plot_beside(std::filesystem::path report) { return report.replace_extension(".svg"); }
std::filesystem::path findings_beside(const std::filesystem::path& report) {
  return report.parent_path() / "findings.yaml";
}

CommandSyntax syntax_for(ValidateOptions& options) {
  CommandSyntax syntax(
      "mirfak validate RUNS.csv... | PREDICTED.h5 MEASURED.h5 [OPTION]...",
      "Simulates every measured training run of the tables RUNS.csv, and says how far the predictions are off:\n"
      "mean absolute error (MAPE), median, 90th percentile, rank correlation. A row that is not understood, or cannot\n"
      "be simulated, is listed with the reason. Files say what columns and words mean (validate/published/README.md);\n"
      "`mirfak list words` prints the words, and NAME.map.yaml beside NAME.csv adds more.\n"
      "Two traces of one program, from `mirfak simulate` and from `mirfak-measure run`, are compared task by task: by\n"
      "kind, stage and rank, with both critical paths, and with the reasons why the iterations differ.");
  syntax.operands = &options.files;
  auto add = syntax.options.add_options();
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json"), "what to print");
  syntax.add_file(FileRole::output, "out", options.out, "ERRORS.csv",
                  "write a row per run, or per task: predicted, measured, error");
  syntax.add_file(FileRole::output, "report", options.report, "REPORT.md",
                  "write an error report as Markdown and its plot as SVG; reasons come from findings.yaml beside it");
  add("tiers", po::value(&options.tiers)->default_value("AB")->value_name("LETTERS"),
      "which graded rows count; rows without a tier always do");
  add("worst", po::value(&options.worst)->default_value(10)->value_name("N"),
      "how many of the worst rows, or operators, to list");
  add("line", po::value(&options.line)->default_value(0)->value_name("LINE"),
      "print only how the row at this line is read, cell by cell, and the scenario it becomes");
  syntax.add_file(FileRole::input, "map", options.map, "MAP.yaml",
                  "read the tables by this mapping file, and then by the common vocabulary");
  add("data", po::value(&options.data)->default_value(default_data_folder().string())->value_name("FOLDER"),
      "holds models/, hw_profiles/ and validate/published/");
  syntax.more_files = [&](std::vector<FileArgument>& files) {
    if (options.report.empty()) return;
    files.push_back({FileRole::output, "the plot of --report", plot_beside(options.report)});
    files.push_back({FileRole::input, "the findings of --report", findings_beside(options.report)});
  };
  return syntax;
}

void write_report(const ValidateOptions& options, const std::vector<ValidationTable>& tables) {
  const std::filesystem::path report = options.report;
  const std::filesystem::path plot = plot_beside(report);
  const std::filesystem::path findings = findings_beside(report);
  const Findings found = std::filesystem::exists(findings) ? load_findings(findings) : Findings{};
  write_text_file(plot, validation_plot(tables));
  write_text_file(report, validation_markdown(tables, found, plot.filename().string()));
}

// How a row was read, as comments in front of its scenario.
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

// Letters that no table uses would silently leave out all rows.
void check_tiers(const std::string& tiers, const RunMapping& vocabulary) {
  std::string known;
  if (const ColumnMapping* column = vocabulary.find("tier")) {
    for (const WordRule& rule : column->rules) {
      for (const WordPattern& word : rule.words) known += word.text();
    }
  }
  const std::size_t unknown = tiers.find_first_not_of(known);
  if (tiers.empty() || unknown != std::string::npos) {
    fail_input({}, fmt::format("--tiers: expected letters among {}, found '{}'", known, excerpt(tiers)));
  }
}

bool is_trace(const std::string& file) { return std::filesystem::path(file).extension() == ".h5"; }

CommandOutput compare(const ValidateOptions& options, OutputFormat format) {
  if (options.files.size() != 2 || !is_trace(options.files[0]) || !is_trace(options.files[1])) {
    fail_input({}, "traces are compared in pairs", "give PREDICTED.h5 MEASURED.h5 and nothing else");
  }
  if (!options.report.empty() || options.line > 0) fail_input({}, "--report and --line are for tables of runs");
  const TraceFile predicted = read_trace(options.files[0]);
  const TraceFile measured = read_trace(options.files[1]);
  const TraceComparison comparison = compare_traces(predicted, measured);
  if (!options.out.empty()) write_text_file(options.out, comparison_csv(predicted, measured));
  return {format == OutputFormat::json ? comparison_json(comparison).dump(2) + "\n"
                                       : comparison_text(comparison, options.worst),
          {}};
}

}  // namespace

CommandOutput run_validate(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  ValidateOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_choice(options.format);
  if (options.worst < 0) fail_input({}, fmt::format("--worst: expected 0 or more, found {}", options.worst));
  if (std::any_of(options.files.begin(), options.files.end(), is_trace)) return compare(options, format);
  const DataFolders folders = data_folders(options.data);

  const RunMappings mappings = RunMappings::from_folder(mapping_folder(options.data));
  check_tiers(options.tiers, mappings.vocabulary());
  std::optional<RunMapping> own;
  if (!options.map.empty()) own = mappings.own(options.map);

  std::vector<ValidationTable> tables;
  for (const std::string& file : options.files) {
    CsvTable table = CsvTable::from_file(file);
    if (options.line > 0) table = table.only_line(options.line);
    tables.push_back(
        {std::filesystem::path(file).stem().string(), validate_runs(table, mappings, folders, own ? &*own : nullptr)});
    if (options.line > 0) return row_at(tables.front(), options.line);
  }
  if (!options.report.empty()) write_report(options, tables);
  if (!options.out.empty()) write_text_file(options.out, validation_csv(tables));
  CommandOutput output;
  output.text = format == OutputFormat::json ? validation_json(tables, options.tiers).dump(2) + "\n"
                                             : validation_text(tables, options.tiers, options.worst);
  return output;
}

}  // namespace mirfak
