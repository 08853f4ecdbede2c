#pragma once

#include "base/document.hpp"
#include "cluster/carbon.hpp"

#include <filesystem>
#include <string>

namespace mirfak {

// What stands around the GPUs of a cluster, and where its power comes from. All but the cap changes no time.
struct Facility {
  double power_cap_w = 0;      // of all GPUs together; 0: none
  double network_power_w = 0;  // switches and cables
  double cooling_power_w = 0;  // beside what pue counts
  double pue = 1;              // power of the facility over that of its computers
  CarbonIntensity carbon;
  std::string carbon_asked;        // as a scenario writes it, in YAML; empty: not at all
  double embodied_kg_per_gpu = 0;  // CO2 of making a GPU and its share of the node
  double lifetime_years = 0;       // over which it counts
  bool asked = false;              // whether anything but the cap is stated

  // Of a GPU that is used for so many seconds.
  double embodied_kg(double gpu_seconds) const;
};

// Reads power_cap_w, network_power_w, cooling_power_w, pue, carbon_g_per_kwh and embodied of a `cluster` section;
// `hardware`: the folder that holds grids.yaml. carbon_g_per_kwh is a number, the name of a grid, or the path of a CSV
// with the column g_per_kwh, a row an hour.
Facility read_facility(Mapping& cluster, const std::filesystem::path& hardware);

}  // namespace mirfak
