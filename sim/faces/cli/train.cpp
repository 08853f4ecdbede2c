#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/import_options.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "cli/power_options.hpp"
#include "page/page_data.hpp"
#include "report/json_csv.hpp"
#include "report/train_report.hpp"
#include "scenario/scenario.hpp"
#include "scenario/stated_notes.hpp"
#include "trace/training_power_file.hpp"
#include "trace/training_trace.hpp"
#include "training/prediction.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct TrainOptions {
  std::vector<std::string> files;
  std::vector<std::string> overrides;
  ImportOptions import;
  std::string format;
  int samples = 0;
  std::uint64_t seed = 0;
  std::string trace;
  PowerOptions power;
  std::string report;
  std::string data;
};

CommandSyntax syntax_for(TrainOptions& options) {
  CommandSyntax syntax(
      "mirfak train FILE... [OPTION]...",
      "Simulates the whole training of the job that the scenario FILE describes, or that the FILEs start, which\n"
      "mirfak import reads, with the failures, checkpoints, restarts and pauses of the section `operations`: when it\n"
      "ends, where the time goes, and what money, energy and CO2 it takes.");
  syntax.operands = &options.files;
  auto add = syntax.options.add_options();
  add("set", po::value(&options.overrides)->value_name("KEY=VALUE"),
      "override a key of the scenario, such as operations.spares=4; may be repeated");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json|csv"), "what to print");
  add("samples", po::value(&options.samples)->default_value(1000)->value_name("N"), "runs to simulate");
  add("seed", po::value(&options.seed)->default_value(1)->value_name("N"), "seed of the random numbers");
  syntax.add_file(FileRole::output, "trace", options.trace, "FILE.h5", "write the run that ends at the median as HDF5");
  options.power.add_to(syntax, kTrainingResolutions);
  syntax.add_file(FileRole::output, "report", options.report, "FILE.html",
                  "write a page: when it ends, what is lost, what interrupts it");
  options.import.add_to(syntax);
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  return syntax;
}

}  // namespace

CommandOutput run_train(std::span<const std::string> arguments, const Surroundings& surroundings) {
  TrainOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_or_csv_choice(options.format);
  if (options.samples < 1 || options.samples > kMostTrainingRuns) {
    fail_input({}, "--samples: expected 1 to 10000000 runs", "leave it out for 1000");
  }
  const double power_resolution_s = options.power.checked_resolution_s();
  const ScenarioSources sources(data_folders(options.data));
  const Scenario scenario =
      parse_scenario(scenario_document(options.files, options.import, options.overrides, sources), sources);
  const TrainingPrediction prediction =
      predict_training(scenario.job, operations_of(scenario), options.samples, options.seed);
  const AssertionResult asserted = check_assertions(scenario.assertions, scenario.job, prediction);
  std::vector<std::string> notes = stated_notes(scenario.document);
  notes.insert(notes.end(), asserted.notes.begin(), asserted.notes.end());
  const TrainReport report{scenario, prediction, std::move(notes)};
  if (!options.trace.empty()) write_training_trace(options.trace, scenario, prediction);
  std::optional<TrainingPower> power;
  if (options.power.given()) {
    power = power_of_run(prediction.course, prediction.median_run, power_resolution_s);
    power->notes = notes_on_idle_hosts(scenario.job.cluster);
    write_power(options.power.file, power_file_of(*power, scenario.resolved));
  }
  if (!options.report.empty()) {
    write_text_file(options.report, page_of(training_page_data(report, surroundings.seconds_so_far())));
  }
  CommandOutput output;
  if (format != OutputFormat::text) {
    nlohmann::ordered_json json = train_json(report, surroundings.seconds_so_far());
    if (power && format == OutputFormat::json) json["power"] = training_power_json(*power);
    output.text = format == OutputFormat::csv ? csv_of_json(json) : printed_json(json);
  } else {
    const int width = surroundings.columns > 0 ? std::clamp(surroundings.columns, 40, 160) : 90;
    output.text = train_text(report, width);
    if (power) output.text += training_power_text(*power);
  }
  complain_of_memory(scenario.job, prediction.iteration, output);
  complain_of_assertions(asserted, output);
  return output;
}

}  // namespace mirfak
