#include "cli/capture_command.hpp"

#include "base/staged_file.hpp"
#include "capture/capture_report.hpp"
#include "capture/capture_simulation.hpp"
#include "capture/captured_trace.hpp"
#include "cli/json_output.hpp"
#include "page/page_data.hpp"
#include "report/json_csv.hpp"
#include "trace/timeline_json.hpp"

#include <nlohmann/json.hpp>

namespace mirfak {

CommandOutput simulate_capture(const Document& document, const CaptureOptions& options, const ScenarioSources& sources,
                               const Surroundings& surroundings) {
  const CaptureSources captures(sources);
  const CapturedScenario scenario = read_captured_scenario(document, captures);
  const CapturePricing pricing = pricing_of(scenario, captures);
  CaptureSimulation simulation = simulate(scenario, captures);
  CaptureResult& result = simulation.result;
  if (!options.timeline.empty()) {
    write_timeline_json(options.timeline, simulation.executed.joined.program, simulation.executed.timeline);
  }
  if (!options.trace.empty()) write_trace(options.trace, scenario, simulation);
  const AssertionResult asserted = check_assertions(scenario, result);
  for (std::string& note : notes_on_keys(scenario, captures, result)) result.notes.push_back(std::move(note));
  result.notes.insert(result.notes.end(), asserted.notes.begin(), asserted.notes.end());
  CommandOutput output;
  const nlohmann::ordered_json json = capture_json(*simulation.capture, pricing, result, surroundings.seconds_so_far());
  if (!options.report.empty()) {
    const std::string text = capture_text(*simulation.capture, pricing, result, false);
    write_text_file(options.report, page_of(capture_page_data(scenario, pricing, simulation, json, text)));
  }
  if (options.format == OutputFormat::text) {
    output.text = capture_text(*simulation.capture, pricing, result, options.explain);
  } else {
    output.text = options.format == OutputFormat::csv ? csv_of_json(json["operators"]) : printed_json(json);
  }
  if (!result.fits) {
    output.complaint = "out of memory: " + memory_need_text(result) + "\n  choose GPUs with more memory";
    output.status = kStatusInfeasible;
  }
  complain_of_assertions(asserted, output);
  return output;
}

}  // namespace mirfak
