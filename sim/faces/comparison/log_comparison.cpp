#include "comparison/log_comparison.hpp"

#include "base/csv.hpp"
#include "base/section.hpp"
#include "base/units.hpp"
#include "report/result_json.hpp"
#include "report/summary_text.hpp"
#include "simulation/prediction_range.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>

namespace mirfak {

namespace {

// True if the measurement lies in the range of the prediction; nullopt: no range is known.
std::optional<bool> in_range(const LogComparison& comparison) {
  const IterationResult& result = comparison.simulation.result;
  if (result.iteration_time_low_s <= 0) return std::nullopt;
  const double seconds = comparison.measured.seconds;
  return seconds >= result.iteration_time_low_s && seconds <= result.iteration_time_high_s;
}

std::string verdict(const LogComparison& comparison) {
  const double excess = comparison.ratio() - 1;
  const std::string share = format_percent(std::abs(excess));
  const char* which = excess > 0 ? "slower" : "faster";
  const std::optional<bool> inside = in_range(comparison);
  if (!inside) return fmt::format("{} {} than predicted; no range of such predictions is known", share, which);
  if (*inside) return fmt::format("{} {} than predicted, which is within the range: as it should be", share, which);
  const IterationResult& result = comparison.simulation.result;
  if (excess < 0) {
    return fmt::format("{} faster than predicted, and below the range: is the scenario what ran?", share);
  }
  return fmt::format(
      "{} slower than it should be: {} above the range. What is predicted to take the time stands below; what takes it "
      "here, a recording says (mirfak trace)",
      share, format_seconds(comparison.measured.seconds - result.iteration_time_high_s));
}

}  // namespace

double LogComparison::ratio() const { return measured.seconds / simulation.result.iteration_time_s; }

std::string log_comparison_text(const LogComparison& comparison) {
  const IterationResult& result = comparison.simulation.result;
  const double level = comparison.simulation.job.ranges.level;
  const bool ranged = level > 0 && result.iteration_time_low_s > 0;
  Table table("|", 0);
  table.add({"log", fmt::format("{}, of {}", comparison.log, comparison.program)});
  table.add({"measured", measured_text(comparison.measured)});
  table.add({"predicted", fmt::format("{}{}", format_seconds(result.iteration_time_s),
                                      ranged ? fmt::format(", {}, as {:.0f} % of measured iterations",
                                                           range_text(result), 100 * level)
                                             : "")});
  table.add({"ratio", fmt::format("{:.3f}: {}", comparison.ratio(), verdict(comparison))});
  std::string out = table.text();
  for (const std::string& note : comparison.notes) out += fmt::format("note: {}\n", note);
  return out + "\n" + summary_text(comparison.scenario, comparison.simulation, comparison.scenario_notes);
}

nlohmann::ordered_json log_comparison_json(const LogComparison& comparison, double elapsed_s) {
  const IterationResult& result = comparison.simulation.result;
  const std::optional<bool> inside = in_range(comparison);
  return {{"log", comparison.log},
          {"program", comparison.program},
          {"measured", measured_json(comparison.measured)},
          {"predicted_s", result.iteration_time_s},
          {"predicted_low_s",
           inside ? nlohmann::ordered_json(result.iteration_time_low_s) : nlohmann::ordered_json(nullptr)},
          {"predicted_high_s",
           inside ? nlohmann::ordered_json(result.iteration_time_high_s) : nlohmann::ordered_json(nullptr)},
          {"ratio", comparison.ratio()},
          {"in_range", inside ? nlohmann::ordered_json(*inside) : nlohmann::ordered_json(nullptr)},
          {"notes", comparison.notes},
          {"result", result_json(comparison.simulation, elapsed_s, comparison.scenario_notes)}};
}

nlohmann::ordered_json measured_json(const MeasuredSteps& measured) {
  return {{"seconds", measured.seconds}, {"low_s", measured.low_s},     {"high_s", measured.high_s},
          {"used", measured.used},       {"warm_up", measured.warm_up}, {"other_batches", measured.other_batches},
          {"basis", measured.basis}};
}

std::string measured_row(const std::string& scenario, const std::string& log, const MeasuredSteps& measured) {
  return fmt::format("scenario,measured.seconds,notes\n{},{},{}\n", csv_field(scenario), measured.seconds,
                     csv_field(fmt::format("{}: {}", log, measured_text(measured))));
}

}  // namespace mirfak
