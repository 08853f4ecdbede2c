// Readings of a GPU's power (`run --power`, or any table of times and watts) beside the power that is predicted.

#include "base/csv.hpp"
#include "base/error.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"
#include "measure/commands.hpp"
#include "measure/power_readings.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <fmt/format.h>

#include <cmath>

namespace mirfak::measure {

namespace {

namespace po = boost::program_options;

// Largest error of the amplitude of which the report says that the prediction holds.
constexpr double kTolerance = 0.1;

struct PowerOptions {
  std::string scenario;
  std::string readings;
  std::vector<std::string> overrides;
  int gpu = 0;
  std::string data;
};

CommandSyntax syntax_for(PowerOptions& options) {
  CommandSyntax syntax(
      "mirfak-measure power SCENARIO --readings FILE.csv [OPTION]...",
      "Compares readings of a GPU's power during training iterations with the power over time that is predicted:\n"
      "the mean, and the amplitude below 1 Hz. Needs no GPU.");
  syntax.operand = &options.scenario;
  auto add = syntax.options.add_options();
  syntax.add_file(FileRole::input, "readings", options.readings, "FILE.csv",
                  "columns time_s and power_w; run --power writes one");
  add("gpu", po::value(&options.gpu)->default_value(0)->value_name("N"), "of which GPU of the job, from 0");
  add("set", po::value(&options.overrides)->value_name("KEY=VALUE"), "override a key of the scenario");
  add("data", po::value(&options.data)->default_value(default_data_folder().string())->value_name("FOLDER"),
      "holds models/ and hw_profiles/");
  return syntax;
}

std::string row(const char* name, double predicted, double measured, double error) {
  return fmt::format("{:<22} {:>12.1f} W {:>10.1f} W {:>+8.1f} %\n", name, predicted, measured, 100 * error);
}

std::string report(const PowerComparison& of) {
  std::string out =
      fmt::format("{} readings over {:.1f} iterations of {:.3g} s\n\n", of.readings, of.iterations, of.iteration_s);
  out += fmt::format("{:<22} {:>14} {:>12} {:>10}\n", "", "predicted", "measured", "error");
  out += row("mean power", of.predicted.mean_w, of.measured.mean_w, of.mean_error());
  out += row("amplitude below 1 Hz", of.predicted.amplitude_w, of.measured.amplitude_w, of.amplitude_error());
  const bool holds = std::abs(of.amplitude_error()) <= kTolerance;
  return out + fmt::format("\nThe amplitude is {} {:.0f} % of the measured one.\n", holds ? "within" : "not within",
                           100 * kTolerance);
}

}  // namespace

std::string compare_readings(std::span<const std::string> arguments, World& world) {
  PowerOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return *help;
  if (options.readings.empty()) fail_input({}, "--readings is missing", "name a table of time_s and power_w");
  if (options.gpu < 0) fail_input({}, "--gpu: expected 0 or more");
  if (world.size() != 1) fail_input({}, "power is compared by one process, and more were started");
  const PowerReadings readings = read_power_readings(CsvTable::from_file(options.readings));
  const Scenario scenario = load_scenario(options.scenario, options.overrides, data_folders(options.data));
  return report(compare_power(simulate(scenario.job), readings, options.gpu));
}

}  // namespace mirfak::measure
