#include "trace/power_report.hpp"

#include "base/averages.hpp"
#include "base/section.hpp"
#include "base/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

std::string ramp_text(double watts_per_s) { return format_watts(watts_per_s) + "/s"; }

// Adds a row on one series: of all GPUs, of the machine, or of one unit.
void add_series(Table& table, const std::string& name, const std::vector<double>& watts, double interval_s) {
  const PowerFigures figures = figures_of_power(watts, interval_s);
  table.add({name, Cell(format_watts(mean(watts)), mean(watts)), Cell(format_watts(figures.peak_w), figures.peak_w),
             Cell(format_watts(figures.peak_w - figures.swing_w), figures.peak_w - figures.swing_w),
             Cell(format_watts(figures.swing_w), figures.swing_w),
             Cell(ramp_text(figures.max_ramp_w_per_s), figures.max_ramp_w_per_s)});
}

std::string unit_name(const char* kind, const PowerUnit& unit) {
  if (unit.count == 1) return fmt::format("{} {}", kind, unit.first);
  return fmt::format("{} {} and {} like it", kind, unit.first, unit.count - 1);
}

// Returns the units that are shown: all, or the first ones.
void add_units(Table& table, const char* kind, const std::vector<PowerUnit>& units, double interval_s) {
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(units.size(), kShown); ++i) {
    add_series(table, unit_name(kind, units[i]), units[i].watts, interval_s);
  }
  if (units.size() > kShown) table.add({fmt::format("... {} more kinds of {}s", units.size() - kShown, kind)});
}

Table series_table(const PowerWaveform& of) {
  Table table("|>mean|>highest|>lowest|>swing|>steepest ramp|");
  add_series(table, "all GPUs", of.gpus_w, of.interval_s);
  add_series(table, "machine", of.machine_w, of.interval_s);
  add_units(table, "rack", of.racks, of.interval_s);
  add_units(table, "node", of.nodes, of.interval_s);
  add_units(table, "GPU", of.gpus, of.interval_s);
  return table;
}

std::string lines_text(const PowerReport& report) {
  const std::string band = fmt::format("from {:g} to {:g} Hz", kLowestLine_hz, kHighestLine_hz);
  if (report.profile.lines.empty()) {
    return fmt::format("  no spectrum {}: the iteration repeats every {}\n", band,
                       format_seconds(report.waveform.iteration_s));
  }
  Table table("|>amplitude|>share of the mean|");
  const double mean_w = mean(report.waveform.gpus_w);
  for (const PowerLine& line : report.profile.strongest) {
    table.add({fmt::format("{:.4g} Hz", line.frequency_hz), Cell(format_watts(line.amplitude_w), line.amplitude_w),
               format_percent(line.amplitude_w / mean_w)});
  }
  return fmt::format("\nStrongest lines of all GPUs' power, {}\n", band) + table.text();
}

Json series_json(const std::vector<double>& watts, double interval_s) {
  const PowerFigures figures = figures_of_power(watts, interval_s);
  return {{"mean_w", mean(watts)},
          {"peak_w", figures.peak_w},
          {"least_w", figures.peak_w - figures.swing_w},
          {"swing_w", figures.swing_w},
          {"max_ramp_w_per_s", figures.max_ramp_w_per_s}};
}

Json units_json(const std::vector<PowerUnit>& units, double interval_s) {
  Json out = Json::array();
  for (const PowerUnit& unit : units) {
    Json& entry = out.emplace_back(Json{{"first", unit.first}, {"count", unit.count}});
    entry.update(series_json(unit.watts, interval_s));
  }
  return out;
}

std::vector<PowerColumn> columns_of(const PowerWaveform& of) {
  std::vector<PowerColumn> out = {{"machine_w", -1, 0, of.machine_w},
                                  {"gpus_w", -1, 0, of.gpus_w},
                                  {"hosts_w", -1, 0, of.hosts_w},
                                  {"network_w", -1, 0, std::vector<double>(of.intervals(), of.network_w)}};
  for (std::size_t part = 0; part < of.shown_parts(); ++part) {
    out.push_back({fmt::format("{}_w", name_of(static_cast<PowerPart>(part))), -1, 0, of.parts_w[part]});
  }
  const auto add = [&](const char* kind, const std::vector<PowerUnit>& units) {
    for (const PowerUnit& unit : units) {
      out.push_back({fmt::format("{}_{}_w", kind, unit.first), unit.first, unit.count, unit.watts});
    }
  };
  add("rack", of.racks);
  add("node", of.nodes);
  add("gpu", of.gpus);
  return out;
}

// Returns the figures with all lines of the spectrum.
Json whole_json(const PowerReport& report) {
  Json out = power_json(report);
  Json frequencies = Json::array();
  Json amplitudes = Json::array();
  for (const PowerLine& line : report.profile.lines) {
    frequencies.push_back(line.frequency_hz);
    amplitudes.push_back(line.amplitude_w);
  }
  out["spectrum"] = {{"frequency_hz", std::move(frequencies)}, {"amplitude_w", std::move(amplitudes)}};
  return out;
}

}  // namespace

PowerFile power_file_of(const PowerReport& report, const std::string& scenario) {
  constexpr std::int64_t kSchemaVersion = 1;
  const PowerWaveform& of = report.waveform;
  PowerFile out{"mirfak power",
                kSchemaVersion,
                {{"iteration_time_s", of.iteration_s}, {"interval_s", of.interval_s}},
                scenario,
                whole_json(report),
                of.interval_s,
                columns_of(of),
                {}};
  for (const PowerLine& line : report.profile.lines) out.spectrum.emplace_back(line.frequency_hz, line.amplitude_w);
  return out;
}

PowerReport power_report(const Simulation& simulation, double interval_s, bool units) {
  return {power_waveform(simulation, interval_s, units), power_profile(simulation)};
}

nlohmann::ordered_json lines_json(const std::vector<PowerLine>& lines) {
  Json out = Json::array();
  for (const PowerLine& line : lines) {
    out.push_back({{"frequency_hz", line.frequency_hz}, {"amplitude_w", line.amplitude_w}});
  }
  return out;
}

std::string power_text(const PowerReport& report) {
  const PowerWaveform& of = report.waveform;
  std::string out = fmt::format("Power over time, means over {}\n", format_seconds(of.interval_s)) +
                    series_table(of).text() + lines_text(report);
  const double swing_w = figures_of_power(of.gpus_w, of.interval_s).swing_w;
  out += fmt::format("  waiting in collectives draws {} of {} on average; the swing over {} would be {} without it\n",
                     format_watts(mean(of.parts_w[static_cast<std::size_t>(PowerPart::collectives)])),
                     format_watts(mean(of.gpus_w)), format_seconds(kPowerFigureInterval_s),
                     format_watts(report.profile.swing_without_collectives_w));
  if (swing_w == 0 && of.intervals() == 1) {
    out += fmt::format("  one interval is the whole iteration: ask for one below {}\n", format_seconds(of.iteration_s));
  }
  for (const std::string& note : of.notes) out += "  note: " + note + "\n";
  return out;
}

nlohmann::ordered_json power_json(const PowerReport& report) {
  const PowerWaveform& of = report.waveform;
  Json out = {{"iteration_time_s", of.iteration_s}, {"interval_s", of.interval_s}, {"intervals", of.intervals()}};
  out["all_gpus"] = series_json(of.gpus_w, of.interval_s);
  out["machine"] = series_json(of.machine_w, of.interval_s);
  Json& parts = out["parts"] = Json::object();
  for (std::size_t part = 0; part < of.shown_parts(); ++part) {
    parts[fmt::format("{}_w", name_of(static_cast<PowerPart>(part)))] = mean(of.parts_w[part]);
  }
  out["swing_without_collectives_w"] = report.profile.swing_without_collectives_w;
  out["strongest_lines"] = lines_json(report.profile.strongest);
  out["gpus"] = units_json(of.gpus, of.interval_s);
  out["nodes"] = units_json(of.nodes, of.interval_s);
  out["racks"] = units_json(of.racks, of.interval_s);
  out["notes"] = of.notes;
  return out;
}

}  // namespace mirfak
