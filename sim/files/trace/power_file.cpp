#include "trace/power_file.hpp"

#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "trace/hdf5_file.hpp"

#include <fmt/format.h>

#include <string_view>

namespace mirfak {

namespace {

void write_hdf5(const std::filesystem::path& path, const PowerFile& of) {
  Hdf5File file = Hdf5File::create(path);
  file.write_attribute("/", "filetype", std::string_view(of.filetype));
  file.write_attribute("/", "schema_version", of.schema_version);
  for (const auto& [name, number] : of.attributes) file.write_attribute("/", name.c_str(), number);
  write_origin(file);
  file.write("/scenario", of.scenario);
  write_columns(file, of.columns, of.interval_s);
  if (!of.spectrum.empty()) {
    file.add_group("/spectrum");
    write_numbers(file, "/spectrum/frequency_hz", of.spectrum, [](const auto& line) { return line.first; });
    write_numbers(file, "/spectrum/amplitude_w", of.spectrum, [](const auto& line) { return line.second; });
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

nlohmann::ordered_json power_file_json(PowerFile file) {
  nlohmann::ordered_json out = std::move(file.figures);
  out["series"] = json_of_columns(std::move(file.columns));
  return out;
}

void write_power(const std::filesystem::path& path, PowerFile file) {
  switch (power_format_of(path)) {
    case PowerFormat::csv:
      return write_text_file(path, csv_of_columns(file.columns, file.interval_s));
    case PowerFormat::json:
      return write_text_file(path, power_file_json(std::move(file)).dump() + "\n");
    case PowerFormat::hdf5: {
      StagedFile staged(path);
      write_hdf5(staged.path(), file);
      staged.commit();
    }
  }
}

}  // namespace mirfak
