#pragma once

#include "scenario/scenario.hpp"
#include "trace/power_report.hpp"

#include <filesystem>

namespace mirfak {

enum class PowerFormat : std::uint8_t { csv, json, hdf5 };
// Returns the format that the ending of a file stands for: .csv, .json, .h5 or .hdf5. Error(input) for any other.
PowerFormat power_format_of(const std::filesystem::path& path);

// Writes the power of an iteration over time, with every series (trace/README.md has the formats). Errors as of
// power_format_of() and StagedFile.
void write_power(const std::filesystem::path& path, const Scenario& scenario, const PowerReport& report);

}  // namespace mirfak
