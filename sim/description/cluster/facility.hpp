#pragma once

#include "base/document.hpp"
#include "cluster/carbon.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace mirfak {

// Least power of each GPU: power smoothing of the GPU, or dummy work, burns what its work does not draw.
struct PowerFloor {
  double share = 0;              // of the GPU's power limit; 0: no floor
  double ramp_down_w_per_s = 0;  // most by which a GPU's power falls; 0: it falls at once
  double ramp_up_w_per_s = 0;    // most by which its power rises; 0: at once
  // False: power rises ahead of work that is known to come. True: it rises once work is there, which is slower until it
  // may draw what it needs; ramp_down_w_per_s is stated, too.
  bool ramp_up_slows_work = false;
  double slowdown = 0;  // share by which dummy work makes kernels take longer; 0: the GPU burns by itself

  // Most by which power rises ahead of work, in W/s; 0: it does not need to.
  double ramp_ahead_w_per_s() const { return ramp_up_slows_work ? 0 : ramp_up_w_per_s; }

  friend bool operator==(const PowerFloor&, const PowerFloor&) = default;
};

// Replicas that begin an iteration one group after the other, so that their power does not swing together: those that
// divide experts among them begin together, the k-th such block in group k modulo `groups`.
struct StaggeredReplicas {
  int groups = 1;
  double step_s = 0;  // time from the beginning of a group to that of the next

  friend bool operator==(const StaggeredReplicas&, const StaggeredReplicas&) = default;
};

// Surroundings of a cluster's GPUs, and the source of their power. Only the cap, the slowdown of a floor and staggered
// replicas change times.
struct Facility {
  double power_cap_w = 0;  // limit for all GPUs together; 0: none
  std::optional<PowerFloor> power_floor;
  std::optional<StaggeredReplicas> staggered_replicas;
  double network_power_w = 0;  // power of switches and cables
  double cooling_power_w = 0;  // power of cooling that pue does not count
  double pue = 1;              // power of the facility divided by that of its computers
  CarbonIntensity carbon;
  std::string carbon_asked;        // as in a scenario, in YAML; empty: not stated
  double embodied_kg_per_gpu = 0;  // CO2 from making a GPU and its share of the node
  double lifetime_years = 0;       // years over which the embodied CO2 is spread
  bool asked = false;              // true if anything but the cap is stated

  // Returns the embodied kg of CO2 of a GPU that is used for this many seconds.
  double embodied_kg(double gpu_seconds) const;
};

// Reads power_cap_w, power_floor, staggered_replicas, network_power_w, cooling_power_w, pue, carbon_g_per_kwh and
// embodied of a `cluster` section. `hardware` is the folder that holds grids.yaml. carbon_g_per_kwh is a number, the
// name of a grid, or the path of a CSV file with the column g_per_kwh and one row per hour.
Facility read_facility(Mapping& cluster, const std::filesystem::path& hardware);

}  // namespace mirfak
