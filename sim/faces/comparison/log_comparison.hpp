#pragma once

#include "import/measured_steps.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// The measured steps of a log, and the prediction of the scenario that ran.
struct LogComparison {
  std::string log;      // name of the file
  std::string program;  // program that wrote it
  MeasuredSteps measured;
  Scenario scenario;
  Simulation simulation;
  std::vector<std::string> notes;           // on the log: contradictions, lines that are not read
  std::vector<std::string> scenario_notes;  // on keys of the scenario

  double ratio() const;  // measured over predicted
};

// Returns measured and predicted time, their ratio, the range and a sentence on where the measurement lies, then the
// report of the predicted iteration (summary_text()).
std::string log_comparison_text(const LogComparison& comparison);

// Returns the keys log, program, measured (seconds, low_s, high_s, used, warm_up, other_batches, basis), predicted_s,
// predicted_low_s, predicted_high_s (null: not known), ratio, in_range (null: no range), notes, result.
nlohmann::ordered_json log_comparison_json(const LogComparison& comparison, double elapsed_s);

// Returns the keys of measured above.
nlohmann::ordered_json measured_json(const MeasuredSteps& measured);

// Returns a table of measured runs with one row (validate/published/README.md): the scenario's file and its seconds.
std::string measured_row(const std::string& scenario, const std::string& log, const MeasuredSteps& measured);

}  // namespace mirfak
