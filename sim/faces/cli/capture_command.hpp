#pragma once

#include "base/document.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "scenario/scenario_sources.hpp"
#include "simulation/spread.hpp"

#include <optional>
#include <string>

namespace mirfak {

// Options of `mirfak simulate` that captures have, too.
struct CaptureOptions {
  OutputFormat format = OutputFormat::text;
  std::string trace;
  std::string timeline;
  std::string report;
  std::string chakra;
  std::string chakra_ranks;
  bool explain = false;
  std::optional<SpreadOptions> sampling;  // --samples
  std::optional<double> factor;           // --sensitivity
  std::string power;                      // --power
  double power_resolution_s = 0;
};

// Executes a scenario of a capture, and prints where its time and memory go. Status 3 for a program that does not fit
// in memory, 4 for a condition that does not hold. Errors as of read_captured_scenario() and captured_program().
CommandOutput simulate_capture(const Document& document, const CaptureOptions& options, const ScenarioSources& sources,
                               const Surroundings& surroundings);

}  // namespace mirfak
