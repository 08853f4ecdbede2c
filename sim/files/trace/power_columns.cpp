#include "trace/power_columns.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace mirfak {

namespace {

std::size_t intervals_of(const std::vector<PowerColumn>& columns) {
  return columns.empty() ? 0 : columns.front().watts.size();
}

double time_of(std::size_t interval, double interval_s) { return static_cast<double>(interval) * interval_s; }

}  // namespace

std::string csv_of_columns(const std::vector<PowerColumn>& columns, double interval_s) {
  std::string out = "time_s";
  for (const PowerColumn& column : columns) out += "," + column.name;
  out += '\n';
  for (std::size_t i = 0; i < intervals_of(columns); ++i) {
    fmt::format_to(std::back_inserter(out), "{}", time_of(i, interval_s));
    for (const PowerColumn& column : columns) fmt::format_to(std::back_inserter(out), ",{}", column.watts[i]);
    out += '\n';
  }
  return out;
}

nlohmann::ordered_json json_of_columns(std::vector<PowerColumn> columns) {
  using Json = nlohmann::ordered_json;
  Json out = Json::array();
  for (PowerColumn& column : columns) {
    Json& entry = out.emplace_back(Json{{"name", column.name}});
    if (column.count > 0) entry.update({{"first", column.first}, {"count", column.count}});
    entry["watts"] = std::move(column.watts);
  }
  return out;
}

void write_columns(Hdf5File& file, const std::vector<PowerColumn>& columns, double interval_s) {
  file.add_group("/series");
  Hdf5Column<double> times(file, "/series/time_s");
  for (std::size_t i = 0; i < intervals_of(columns); ++i) times.append(time_of(i, interval_s));
  times.finish();
  for (const PowerColumn& column : columns) {
    const std::string name = "/series/" + column.name;
    write_numbers(file, name, column.watts, [](double watts) { return watts; });
    if (column.count > 0) file.write_attribute(name, "count", static_cast<std::int64_t>(column.count));
  }
}

}  // namespace mirfak
