#include "trace/power_file.hpp"

#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "trace/hdf5_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kPowerSchemaVersion = 1;

// One series of a file. `count`: number of units alike, of which the series is one; 0: the series is of the whole.
struct PowerColumn {
  std::string name;
  int first = -1;
  int count = 0;
  std::vector<double> watts;
};

std::vector<PowerColumn> columns_of(const PowerWaveform& of) {
  std::vector<PowerColumn> out = {{"machine_w", -1, 0, of.machine_w},
                                  {"gpus_w", -1, 0, of.gpus_w},
                                  {"hosts_w", -1, 0, of.hosts_w},
                                  {"network_w", -1, 0, std::vector<double>(of.intervals(), of.network_w)}};
  for (std::size_t part = 0; part < kPowerParts; ++part) {
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

double time_of(const PowerWaveform& of, std::size_t interval) { return static_cast<double>(interval) * of.interval_s; }

std::string csv_of(const PowerWaveform& of) {
  const std::vector<PowerColumn> columns = columns_of(of);
  std::string out = "time_s";
  for (const PowerColumn& column : columns) out += "," + column.name;
  out += '\n';
  for (std::size_t i = 0; i < of.intervals(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}", time_of(of, i));
    for (const PowerColumn& column : columns) fmt::format_to(std::back_inserter(out), ",{}", column.watts[i]);
    out += '\n';
  }
  return out;
}

std::string json_of(const PowerReport& report) {
  Json out = power_json(report);
  Json frequencies = Json::array();
  Json amplitudes = Json::array();
  for (const PowerLine& line : report.profile.lines) {
    frequencies.push_back(line.frequency_hz);
    amplitudes.push_back(line.amplitude_w);
  }
  out["spectrum"] = {{"frequency_hz", std::move(frequencies)}, {"amplitude_w", std::move(amplitudes)}};
  Json& series = out["series"] = Json::array();
  for (PowerColumn& column : columns_of(report.waveform)) {
    Json& entry = series.emplace_back(Json{{"name", column.name}});
    if (column.count > 0) entry.update({{"first", column.first}, {"count", column.count}});
    entry["watts"] = std::move(column.watts);
  }
  return out.dump() + "\n";
}

template <typename Values, typename Value>
void write_numbers(Hdf5File& file, const std::string& name, const Values& values, const Value& value) {
  Hdf5Column<double> column(file, name);
  for (const auto& each : values) column.append(value(each));
  column.finish();
}

void write_hdf5(const std::filesystem::path& path, const Scenario& scenario, const PowerReport& report) {
  const PowerWaveform& of = report.waveform;
  Hdf5File file = Hdf5File::create(path);
  file.write_attribute("/", "filetype", std::string_view("mirfak power"));
  file.write_attribute("/", "schema_version", kPowerSchemaVersion);
  file.write_attribute("/", "iteration_time_s", of.iteration_s);
  file.write_attribute("/", "interval_s", of.interval_s);
  write_origin(file);
  file.write("/scenario", scenario.resolved);
  file.add_group("/series");
  Hdf5Column<double> times(file, "/series/time_s");
  for (std::size_t i = 0; i < of.intervals(); ++i) times.append(time_of(of, i));
  times.finish();
  for (const PowerColumn& column : columns_of(of)) {
    const std::string name = "/series/" + column.name;
    write_numbers(file, name, column.watts, [](double watts) { return watts; });
    if (column.count > 0) file.write_attribute(name, "count", static_cast<std::int64_t>(column.count));
  }
  if (!report.profile.lines.empty()) {
    file.add_group("/spectrum");
    const auto& lines = report.profile.lines;
    write_numbers(file, "/spectrum/frequency_hz", lines, [](const PowerLine& line) { return line.frequency_hz; });
    write_numbers(file, "/spectrum/amplitude_w", lines, [](const PowerLine& line) { return line.amplitude_w; });
  }
  file.write_out();
}

}  // namespace

PowerFormat power_format_of(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".csv") return PowerFormat::csv;
  if (ending == ".json") return PowerFormat::json;
  if (ending == ".h5" || ending == ".hdf5") return PowerFormat::hdf5;
  fail_input(
      {}, fmt::format("--power {}: the ending says the format, and it is none that power is written in", path.string()),
      "give it a name that ends in .csv, .json or .h5");
}

void write_power(const std::filesystem::path& path, const Scenario& scenario, const PowerReport& report) {
  switch (power_format_of(path)) {
    case PowerFormat::csv:
      return write_text_file(path, csv_of(report.waveform));
    case PowerFormat::json:
      return write_text_file(path, json_of(report));
    case PowerFormat::hdf5: {
      StagedFile staged(path);
      write_hdf5(staged.path(), scenario, report);
      staged.commit();
    }
  }
}

}  // namespace mirfak
