#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"
#include "report/explain_text.hpp"
#include "report/memory_shortage.hpp"
#include "report/result_json.hpp"
#include "report/summary_text.hpp"
#include "report/timeline_text.hpp"
#include "scenario/idle_keys.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "trace/timeline_json.hpp"
#include "trace/trace_hdf5.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct SimulateOptions {
  std::string scenario;
  std::vector<std::string> overrides;
  std::string format;
  std::string detail;
  bool unfolded = false;
  std::string trace;
  std::string timeline;
  bool explain = false;
  std::string data;
};

CommandSyntax syntax_for(SimulateOptions& options) {
  CommandSyntax syntax(
      "mirfak simulate SCENARIO [OPTION]...",
      "Simulates one training iteration of the job that the YAML file SCENARIO describes, and says how\n"
      "long it takes, where the time goes, and what memory, energy and money it needs.");
  syntax.operand = &options.scenario;
  auto add = syntax.options.add_options();
  add("set", po::value(&options.overrides)->value_name("KEY=VALUE"),
      "override a key of the scenario, such as strategy.tensor=4; may be given several times");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json"), "what to print");
  add("detail", po::value(&options.detail)->default_value("passes")->value_name("passes|operators"),
      "one task per pass of a chunk, or one per kernel and collective");
  add("unfolded", po::bool_switch(&options.unfolded), "simulate every rank, not one for all that behave alike");
  syntax.add_file(FileRole::output, "trace", options.trace, "FILE.h5", "write all tasks, memory and power as HDF5");
  syntax.add_file(FileRole::output, "timeline", options.timeline, "FILE.json",
                  "write a timeline for Perfetto or chrome://tracing");
  add("explain", po::bool_switch(&options.explain), "also print every cost with its formula, inputs and sources");
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  return syntax;
}

bool wants_operators(const std::string& detail) {
  static const std::vector<std::string> names = {"passes", "operators"};
  return choice("--detail", detail, names) == 1;
}

std::string text_report(const Scenario& scenario, const Simulation& simulation, std::span<const std::string> notes,
                        bool explain, const Surroundings& surroundings) {
  TimelineTextOptions drawing;
  drawing.colour = surroundings.colour;
  if (surroundings.columns > 0) drawing.width = std::clamp(surroundings.columns, 40, 160);
  std::string out = summary_text(scenario, simulation, notes) + "\n" +
                    timeline_text(simulation.program, simulation.timeline, drawing);
  if (explain) out += "\n" + explain_text(scenario, simulation);
  return out;
}

std::string json_report(const Simulation& simulation, std::span<const std::string> notes,
                        const Surroundings& surroundings) {
  const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - surroundings.started;
  return result_json(simulation, so_far.count(), notes).dump(2) + "\n";
}

}  // namespace

CommandOutput run_simulate(std::span<const std::string> arguments, const Surroundings& surroundings) {
  SimulateOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_choice(options.format);
  const LoweringOptions lowering{options.unfolded, wants_operators(options.detail)};
  if (options.explain && format == OutputFormat::json)
    fail_input({}, "--explain prints text, not JSON", "leave out --format json");

  const ScenarioSources sources(data_folders(options.data));
  const Scenario scenario = load_scenario(options.scenario, options.overrides, sources);
  const Simulation simulation = simulate(scenario.job, lowering);
  if (!options.trace.empty()) write_trace(options.trace, scenario, simulation);
  if (!options.timeline.empty()) write_timeline_json(options.timeline, simulation);

  CommandOutput output;
  const bool as_usual = !lowering.unfolded && !lowering.operators;
  const std::vector<std::string> notes =
      notes_on_keys(scenario, sources, as_usual ? simulation.result : simulate(scenario.job).result);
  output.text = format == OutputFormat::json ? json_report(simulation, notes, surroundings)
                                             : text_report(scenario, simulation, notes, options.explain, surroundings);
  if (!simulation.result.fits) {
    output.complaint = fmt::format("out of memory: {}\n  try {}", memory_shortage_text(simulation.result),
                                   memory_remedies(scenario.job));
    output.status = kStatusInfeasible;
  }
  return output;
}

}  // namespace mirfak
