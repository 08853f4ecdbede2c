#include "trace/training_power_file.hpp"

#include "base/section.hpp"
#include "base/units.hpp"
#include "simulation/power_waveform.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

double mean_w(const TrainingPower& power) {
  return power.energy_j / (static_cast<double>(power.intervals()) * power.interval_s);
}

// Returns the figures of a run, which begins and ends: its first and last interval are no neighbours.
PowerFigures figures_of_run(const TrainingPower& power) {
  std::vector<double> there_and_back = power.machine_w;
  there_and_back.insert(there_and_back.end(), power.machine_w.rbegin(), power.machine_w.rend());
  return figures_of_power(there_and_back, power.interval_s);
}

std::vector<PowerColumn> columns_of(const TrainingPower& power) {
  std::vector<PowerColumn> out = {{"machine_w", -1, 0, power.machine_w}};
  for (std::size_t part = 0; part < kTimeParts; ++part) {
    if (power.parts_w[part].empty()) continue;
    out.push_back({time_part_names()[part] + "_w", -1, 0, power.parts_w[part]});
  }
  return out;
}

}  // namespace

std::string training_power_text(const TrainingPower& power) {
  const PowerFigures figures = figures_of_run(power);
  Table table("|>|");
  table.add({"mean", format_watts(mean_w(power)), format_watt_hours(power.energy_j) + " in all"});
  table.add({"highest", format_watts(figures.peak_w), ""});
  table.add({"lowest", format_watts(figures.peak_w - figures.swing_w),
             fmt::format("{} while nothing is trained", format_watts(power.idle_w))});
  table.add({"steepest ramp", format_watts(figures.max_ramp_w_per_s) + "/s", ""});
  if (power.saves > 0) {
    table.add({"checkpoints", fmt::format("{} saves", format_count(static_cast<double>(power.saves))),
               fmt::format("each a fall by {}; {} in all", format_watts(power.training_w - power.idle_w),
                           format_watt_hours(power.saving_energy_j))});
  }
  std::string notes;
  for (const std::string& note : power.notes) notes += "  note: " + note + "\n";
  return fmt::format("\nPower of the machine over the median run, means over {}\n", format_seconds(power.interval_s)) +
         table.text() + "  within an iteration power is not even: mirfak simulate --power shows it\n" + notes;
}

nlohmann::ordered_json training_power_json(const TrainingPower& power) {
  const PowerFigures figures = figures_of_run(power);
  Json out = {{"interval_s", power.interval_s}, {"intervals", power.intervals()},
              {"energy_j", power.energy_j},     {"mean_w", mean_w(power)},
              {"peak_w", figures.peak_w},       {"least_w", figures.peak_w - figures.swing_w},
              {"swing_w", figures.swing_w},     {"max_ramp_w_per_s", figures.max_ramp_w_per_s},
              {"training_w", power.training_w}, {"idle_w", power.idle_w},
              {"saves", power.saves},           {"saving_energy_j", power.saving_energy_j}};
  Json& parts = out["parts"] = Json::object();
  for (std::size_t part = 0; part < kTimeParts; ++part) {
    const std::vector<double>& series = power.parts_w[part];
    if (series.empty()) continue;
    parts[time_part_names()[part] + "_j"] = std::accumulate(series.begin(), series.end(), 0.0) * power.interval_s;
  }
  out["notes"] = power.notes;
  return out;
}

PowerFile power_file_of(const TrainingPower& power, const std::string& scenario) {
  constexpr std::int64_t kSchemaVersion = 1;
  return {"mirfak training power",
          kSchemaVersion,
          {{"interval_s", power.interval_s}, {"energy_j", power.energy_j}},
          scenario,
          training_power_json(power),
          power.interval_s,
          columns_of(power),
          {}};
}

}  // namespace mirfak
