#include "trace/power_file.hpp"

#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "trace/hdf5_file.hpp"
#include "trace/power_columns.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kPowerSchemaVersion = 1;

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

std::string json_of(const PowerReport& report) {
  Json out = power_json(report);
  Json frequencies = Json::array();
  Json amplitudes = Json::array();
  for (const PowerLine& line : report.profile.lines) {
    frequencies.push_back(line.frequency_hz);
    amplitudes.push_back(line.amplitude_w);
  }
  out["spectrum"] = {{"frequency_hz", std::move(frequencies)}, {"amplitude_w", std::move(amplitudes)}};
  out["series"] = json_of_columns(columns_of(report.waveform));
  return out.dump() + "\n";
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
  write_columns(file, columns_of(of), of.interval_s);
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
      return write_text_file(path, csv_of_columns(columns_of(report.waveform), report.waveform.interval_s));
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
