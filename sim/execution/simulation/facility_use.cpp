#include "simulation/facility_use.hpp"

namespace mirfak {

FacilityUse facility_use(const Facility& facility, const FacilityLoad& load) {
  FacilityUse out;
  if (!facility.asked) return out;
  out.machine_energy_j = load.gpu_energy_j + (load.host_power_w + facility.network_power_w) * load.seconds;
  out.facility_energy_j = facility.pue * out.machine_energy_j + facility.cooling_power_w * load.seconds;
  constexpr double kGramsPerKilogram = 1000;
  out.co2_kg = out.facility_energy_j / kJoulesPerKilowattHour * facility.carbon.mean() / kGramsPerKilogram;
  out.embodied_co2_kg = facility.embodied_kg(load.gpus * load.seconds);
  return out;
}

}  // namespace mirfak
