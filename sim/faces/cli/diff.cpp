#include "base/error.hpp"
#include "capture/capture_file.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/import_options.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "comparison/captured_difference.hpp"
#include "comparison/compared_scenario.hpp"
#include "comparison/difference_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct DiffOptions {
  std::vector<std::string> scenarios;
  std::vector<std::string> of_both;
  std::vector<std::string> of_a;
  std::vector<std::string> of_b;
  std::string format;
  ImportOptions import;
  std::string data;
};

CommandSyntax syntax_for(DiffOptions& options) {
  CommandSyntax syntax(
      "mirfak diff A [B] [OPTION]...",
      "Simulates an iteration of each of two scenarios, or of one and itself with other keys, and says where\n"
      "their seconds differ: what is set otherwise, activities, stages, kernels, collectives, memory, cost. Or of\n"
      "two captures on --nodes, by operator and module.");
  syntax.operands = &options.scenarios;
  auto add = syntax.options.add_options();
  add("set", po::value(&options.of_both)->value_name("KEY=VALUE"), "override a key of both scenarios; may be repeated");
  add("set-a", po::value(&options.of_a)->value_name("KEY=VALUE"), "override a key of A alone");
  add("set-b", po::value(&options.of_b)->value_name("KEY=VALUE"),
      "override a key of B alone; without a file B, B is A with these changes");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json|csv"), "what to print");
  options.import.add_to(syntax);
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  return syntax;
}

Document document_of(const std::string& path, const DiffOptions& options, const std::vector<std::string>& own,
                     const ScenarioSources& sources) {
  // Options for launch files and captures hold only for them, not for a scenario that is compared with one.
  const bool made = is_import_file(path, sources) || is_capture(path);
  std::vector<std::string> overrides = options.of_both;
  // Keys that a launch file leaves open are stated for one of the two.
  if (made) overrides.insert(overrides.end(), own.begin(), own.end());
  return scenario_document(path, made ? options.import : ImportOptions{}, overrides, sources);
}

// Refuses a capture and a strategy: their kernels have no names in common, and neither says what the other has
// otherwise.
void require_captures(const Document& a, const Document& b) {
  for (const Document* document : {&a, &b}) {
    if (names_capture(*document)) continue;
    fail_input({document->name(), 0, 0}, "is of a model and a strategy, and is compared with a capture",
               "differences are of two captures, or of two strategies; mirfak simulate prints each by itself");
  }
}

CommandOutput captured_difference(const Document& of_a, const Document& of_b, const DiffOptions& options,
                                  OutputFormat format, const ScenarioSources& scenario_sources) {
  require_captures(of_a, of_b);
  const CaptureSources sources(scenario_sources);
  const ComparedCapture a = compared_capture(of_a, options.of_a, sources);
  const ComparedCapture b = compared_capture(of_b, options.of_b, sources);
  const CaptureDifference difference = capture_difference(a, b);
  if (format == OutputFormat::json) return {printed_json(capture_difference_json(a, b, difference)), {}};
  if (format == OutputFormat::csv) return {capture_difference_csv(difference), {}};
  return {capture_difference_text(a, b, difference), {}};
}

}  // namespace

CommandOutput run_diff(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  DiffOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_or_csv_choice(options.format);
  if (options.scenarios.size() > 2) {
    fail_input({}, fmt::format("{} scenarios, and differences are of two", options.scenarios.size()),
               "mirfak compare makes a table of several");
  }
  if (options.scenarios.size() == 1 && options.of_a.empty() && options.of_b.empty()) {
    fail_input({}, "one scenario, and nothing in which it differs from itself",
               "name a second file, or say with --set-b KEY=VALUE what B has otherwise");
  }
  const ScenarioSources sources(data_folders(options.data));
  const Document document_a = document_of(options.scenarios.front(), options, options.of_a, sources);
  const Document document_b = document_of(options.scenarios.back(), options, options.of_b, sources);
  if (names_capture(document_a) || names_capture(document_b)) {
    return captured_difference(document_a, document_b, options, format, sources);
  }
  const ComparedScenario a = compared_scenario(document_a, options.of_a, sources);
  const ComparedScenario b = compared_scenario(document_b, options.of_b, sources);
  const ComparedRun of_a = a.run();
  const ComparedRun of_b = b.run();
  const ResultDifference difference = result_difference(of_a, of_b);
  if (format == OutputFormat::json) return {printed_json(difference_json(of_a, of_b, difference)), {}};
  if (format == OutputFormat::csv) return {difference_csv(difference), {}};
  return {difference_text(of_a, of_b, difference), {}};
}

}  // namespace mirfak
