#pragma once

#include "trace/power_columns.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

enum class PowerFormat : std::uint8_t { csv, json, hdf5 };
// Returns the format that the ending of a file stands for: .csv, .json, .h5 or .hdf5. Error(input) for any other.
PowerFormat power_format_of(const std::filesystem::path& path);

// Contents of a file of power over time, in all formats (README.md). CSV has the columns alone.
struct PowerFile {
  std::string filetype;                                    // of HDF5
  std::int64_t schema_version = 1;                         // of HDF5
  std::vector<std::pair<std::string, double>> attributes;  // of HDF5's root
  std::string scenario;                                    // completed, of HDF5
  nlohmann::ordered_json figures;                          // of JSON, which has `series` after them
  double interval_s = 0;
  std::vector<PowerColumn> columns;
  std::vector<std::pair<double, double>> spectrum;  // HDF5: frequency in Hz, and amplitude in W; empty: none
};

// Returns the JSON of a file.
nlohmann::ordered_json power_file_json(PowerFile file);
// Writes the file. Errors as of power_format_of() and StagedFile.
void write_power(const std::filesystem::path& path, PowerFile file);

}  // namespace mirfak
