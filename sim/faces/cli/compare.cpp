#include "base/error.hpp"
#include "base/interrupt_watch.hpp"
#include "base/progress.hpp"
#include "base/staged_file.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "comparison/captured_options.hpp"
#include "comparison/comparison_report.hpp"
#include "comparison/option_results.hpp"
#include "comparison/written_options.hpp"
#include "page/page_data.hpp"
#include "scenario/comparison_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct CompareOptions {
  std::string file;
  std::vector<std::string> overrides;
  std::string format;
  std::string report;
  std::string out;
  int jobs = 0;
  std::string data;
};

CommandSyntax syntax_for(CompareOptions& options) {
  CommandSyntax syntax(
      "mirfak compare FILE [OPTION]...",
      "Searches the best strategy of one job on each of the options of the YAML file FILE (clusters, clouds,\n"
      "numbers of nodes), and compares days, money, energy, CO2 and memory, or says how many GPUs a date needs. A\n"
      "captured program is executed on each of them as it is.");
  syntax.operand = &options.file;
  auto add = syntax.options.add_options();
  add("set", po::value(&options.overrides)->value_name("KEY=VALUE"),
      "override a key in the scenarios of all options; may be repeated");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json|csv"), "what to print");
  syntax.add_file(FileRole::output, "report", options.report, "FILE.html", "write a page with the table and a plot");
  syntax.add_file(FileRole::as_added, "out", options.out, "FOLDER", "write a scenario for each row that runs here");
  syntax.more_files = [&options](std::vector<FileArgument>& files) {
    const std::filesystem::path folder = options.out;
    if (!options.out.empty()) files.push_back({FileRole::output, "--out", folder / "01.yaml"});
  };
  add("jobs", po::value(&options.jobs)->default_value(0)->value_name("N"), "threads; 0: all cores");
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  return syntax;
}

std::string printed(const ComparisonFile& file, const Comparison& comparison, OutputFormat format) {
  switch (format) {
    case OutputFormat::json:
      return printed_json(comparison_json(file, comparison));
    case OutputFormat::csv:
      return comparison_csv(comparison);
    case OutputFormat::text:
      break;
  }
  return comparison_text(file, comparison);
}

}  // namespace

namespace {

CommandOutput compare_captured(const ComparisonFile& file, const CompareOptions& options, OutputFormat format,
                               const Surroundings& surroundings) {
  if (!options.report.empty()) {
    fail_input({}, "--report draws the options of a model, and these are of a capture", "leave it out");
  }
  if (!options.out.empty()) {
    fail_input({}, "--out writes strategies of a model, and a captured program has its own", "leave it out");
  }
  const InterruptWatch watch;
  Progress progress("options", file.choices.size(), 0, surroundings.progress, surroundings.progress_columns);
  const CapturedComparison comparison = compare_captures(
      file, data_folders(options.data), [&](std::size_t done) { progress.update(done, file.choices.size()); },
      [] { return InterruptWatch::interrupted(); });
  CommandOutput output;
  output.text = format == OutputFormat::json  ? printed_json(captured_comparison_json(file, comparison))
                : format == OutputFormat::csv ? captured_comparison_csv(comparison)
                                              : captured_comparison_text(file, comparison);
  const bool any =
      std::any_of(comparison.rows.begin(), comparison.rows.end(), [](const CapturedOption& row) { return row.runs(); });
  if (!comparison.complete) {
    output.complaint = "interrupted: what was executed until then";
    output.status = kStatusInterrupted;
  } else if (!any) {
    output.complaint = file.name + ": no option runs";
    output.status = kStatusInfeasible;
  }
  return output;
}

}  // namespace

CommandOutput run_compare(std::span<const std::string> arguments, const Surroundings& surroundings) {
  CompareOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_or_csv_choice(options.format);
  if (options.jobs < 0) fail_input({}, fmt::format("--jobs: expected 0 or more, found {}", options.jobs));
  const ComparisonFile file = load_comparison(options.file, options.overrides);
  if (compares_captures(file)) return compare_captured(file, options, format, surroundings);
  const InterruptWatch watch;
  Progress progress("options", file.choices.size(), 0, surroundings.progress, surroundings.progress_columns);
  Comparison comparison = compare_options(
      file, data_folders(options.data), options.jobs,
      [&](std::size_t done) { progress.update(done, file.choices.size()); },
      [] { return InterruptWatch::interrupted(); });
  if (!options.out.empty()) write_options(file, options.out, comparison);
  if (!options.report.empty()) {
    write_text_file(options.report, page_of(comparison_page_data(file, comparison)));
  }
  CommandOutput output;
  output.text = printed(file, comparison, format);
  const bool any = std::any_of(comparison.rows.begin(), comparison.rows.end(),
                               [](const OptionResult& row) { return row.runs() && row.in_time; });
  if (!comparison.complete) {
    output.complaint = "interrupted: what was searched until then";
    output.status = kStatusInterrupted;
  } else if (!any) {
    output.complaint = file.name + ": no option runs" + (file.sizing.deadline_s > 0 ? " and is done in time" : "");
    output.status = kStatusInfeasible;
  }
  return output;
}

}  // namespace mirfak
