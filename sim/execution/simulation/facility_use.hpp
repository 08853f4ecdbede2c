#pragma once

#include "cluster/facility.hpp"

namespace mirfak {

// Use that GPUs make of a facility.
struct FacilityLoad {
  double gpu_energy_j = 0;
  double host_power_w = 0;  // of the nodes without their GPUs
  double gpus = 0;
  double seconds = 0;
};

// Energy of the machine (GPUs, hosts, network) and of the facility around it, and emissions from running and making it.
// All 0 unless the cluster says anything of its facility.
struct FacilityUse {
  double machine_energy_j = 0;
  double facility_energy_j = 0;
  double co2_kg = 0;  // 0: no intensity is known
  double embodied_co2_kg = 0;
};
FacilityUse facility_use(const Facility& facility, const FacilityLoad& load);

}  // namespace mirfak
