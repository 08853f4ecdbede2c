#pragma once

#include "trace/hdf5_file.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// One series of a file of power. `count`: number of units alike, of which the series is one; 0: the series is of the
// whole.
struct PowerColumn {
  std::string name;
  int first = -1;
  int count = 0;
  std::vector<double> watts;
};

// Return columns of equal length as a table with the times at which intervals begin, and as a list of objects.
std::string csv_of_columns(const std::vector<PowerColumn>& columns, double interval_s);
nlohmann::ordered_json json_of_columns(std::vector<PowerColumn> columns);
// Writes the group /series: `time_s` and the columns.
void write_columns(Hdf5File& file, const std::vector<PowerColumn>& columns, double interval_s);

// Writes a data set of numbers, one for each entry of `values`.
template <typename Values, typename Value>
void write_numbers(Hdf5File& file, const std::string& name, const Values& values, const Value& value) {
  Hdf5Column<double> column(file, name);
  for (const auto& each : values) column.append(value(each));
  column.finish();
}

}  // namespace mirfak
