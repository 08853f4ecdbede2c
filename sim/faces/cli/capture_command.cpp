#include "cli/capture_command.hpp"

#include "base/staged_file.hpp"
#include "capture/capture_report.hpp"
#include "capture/capture_simulation.hpp"
#include "capture/captured_power.hpp"
#include "capture/captured_spread.hpp"
#include "capture/captured_trace.hpp"
#include "cli/chakra_files.hpp"
#include "cli/json_output.hpp"
#include "page/page_data.hpp"
#include "report/json_csv.hpp"
#include "report/sensitivity_report.hpp"
#include "report/spread_report.hpp"
#include "trace/timeline_json.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

std::vector<std::string> notes_of(const CapturedScenario& scenario, const CaptureSources& captures,
                                  const CaptureResult& result, bool sampled) {
  std::vector<std::string> out = notes_on_keys(scenario, captures, result);
  if (sampled) leave_out_notes_on_perturbations(out);
  return out;
}

}  // namespace

CommandOutput simulate_capture(const Document& document, const CaptureOptions& options, const ScenarioSources& sources,
                               const Surroundings& surroundings) {
  const CaptureSources captures(sources);
  const CapturedScenario scenario = read_captured_scenario(document, captures);
  const CapturePricing pricing = pricing_of(scenario, captures);
  CaptureSimulation simulation = simulate(scenario, captures);
  CaptureResult& result = simulation.result;
  const Program& program = simulation.executed.joined.program;
  if (!options.timeline.empty()) write_timeline_json(options.timeline, program, simulation.executed.timeline);
  if (!options.trace.empty()) write_trace(options.trace, scenario, simulation);
  std::vector<std::string> of_files;
  if (!options.chakra.empty()) {
    of_files = write_chakra_files(options.chakra, options.chakra_ranks, scenario, captures);
  }
  std::optional<PowerReport> power;
  if (!options.power.empty()) {
    power = power_report(scenario, simulation, options.power_resolution_s);
    write_power(options.power, power_file_of(*power, scenario.resolved));
  }
  std::optional<Sensitivity> gains;
  if (options.factor) gains = sensitivity(scenario, captures, result, *options.factor);
  std::optional<Spread> spread;
  if (options.sampling) spread = sample_steps(scenario, captures, *options.sampling);
  const AssertionResult asserted = check_assertions(scenario, result);
  for (std::string& note : notes_of(scenario, captures, result, spread.has_value())) {
    result.notes.push_back(std::move(note));
  }
  result.notes.insert(result.notes.end(), of_files.begin(), of_files.end());
  result.notes.insert(result.notes.end(), asserted.notes.begin(), asserted.notes.end());
  nlohmann::ordered_json json = capture_json(*simulation.capture, pricing, result, surroundings.seconds_so_far());
  if (spread) json["spread"] = spread_json(*spread);
  if (gains) json["sensitivity"] = sensitivity_json(*gains);
  if (power) json["power"] = power_json(*power);
  if (!options.report.empty()) {
    const std::string text = capture_text(*simulation.capture, pricing, result, false);
    write_text_file(options.report, page_of(capture_page_data(scenario, pricing, simulation, json, text)));
  }
  CommandOutput output;
  switch (options.format) {
    case OutputFormat::json:
      output.text = printed_json(json);
      break;
    case OutputFormat::csv:
      output.text = gains ? sensitivity_csv(*gains) : csv_of_json(json["operators"]);
      break;
    case OutputFormat::text:
      output.text = capture_text(*simulation.capture, pricing, result, options.explain);
      if (spread) output.text += "\n" + spread_text(*spread);
      if (gains) output.text += "\n" + sensitivity_text(*gains);
      if (power) output.text += "\n" + power_text(*power);
  }
  if (!result.fits) {
    output.complaint = "out of memory: " + memory_need_text(result) + "\n  choose GPUs with more memory";
    output.status = kStatusInfeasible;
  }
  complain_of_assertions(asserted, output);
  return output;
}

}  // namespace mirfak
