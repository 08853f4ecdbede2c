#pragma once

#include "simulation/power_waveform.hpp"
#include "trace/power_file.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// The power of an iteration over time, with what follows from it.
struct PowerReport {
  PowerWaveform waveform;
  PowerProfile profile;
};
// As power_waveform() and power_profile().
PowerReport power_report(const Simulation& simulation, double interval_s, bool units = true);

// Return the report without its series: in words, and as the JSON of trace/README.md.
std::string power_text(const PowerReport& report);
nlohmann::ordered_json power_json(const PowerReport& report);
// Returns the report as a file, with every series. `scenario`: completed.
PowerFile power_file_of(const PowerReport& report, const std::string& scenario);
// Returns a list of objects with the frequency and the amplitude of each line.
nlohmann::ordered_json lines_json(const std::vector<PowerLine>& lines);

}  // namespace mirfak
