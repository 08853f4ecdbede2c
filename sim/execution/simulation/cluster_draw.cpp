#include "simulation/cluster_draw.hpp"

#include <set>
#include <vector>

namespace mirfak {

namespace {

// Returns for each group of a cluster the number of its nodes that no job has.
std::vector<int> idle_nodes(const Cluster& cluster, const JointSimulation& simulation) {
  std::vector<int> out;
  for (const NodeGroup& group : cluster.groups()) out.push_back(group.count);
  for (const Simulation& alone : simulation.alone) {
    std::set<std::pair<int, int>> taken;  // nodes of groups
    for (int rank = 0; rank < alone.job.cluster.gpus(); ++rank) {
      const DevicePlace place = alone.job.network().place_of(alone.job.device_of(rank));
      if (taken.emplace(place.group, place.node).second) --out[static_cast<std::size_t>(place.group)];
    }
  }
  return out;
}

}  // namespace

WaitingForOthers waiting_for_others(const JobAmongOthers& job) {
  return {job.together.energy_j - job.alone.energy_j, job.together.facility_energy_j - job.alone.facility_energy_j,
          job.together.co2_kg - job.alone.co2_kg, job.together.cost_usd - job.alone.cost_usd};
}

ClusterDraw cluster_draw(const Cluster& cluster, const JointSimulation& simulation) {
  ClusterDraw out;
  const std::vector<int> idle = idle_nodes(cluster, simulation);
  for (const JobAmongOthers& job : simulation.jobs) out.jobs_w += job.together.average_power_w;
  const auto groups = cluster.groups();
  bool priced = true;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const NodeGroup& group = groups[i];
    const double gpus = group.hardware.spec.gpus_of_kind();
    if (group.nodes() > 0) {
      out.idle_nodes += idle[i];
      out.hosts_w += (group.nodes() - idle[i]) * group.hardware.spec.host_power_w.value;
      out.hosts_w += idle[i] * group.hardware.spec.idle_host_w();
    }
    out.idle_w += idle[i] * gpus * group.hardware.gpu.idle_w.value;
    priced = priced && group.price;
    if (!group.price) continue;
    out.usd_per_hour += group.count * gpus * group.price->usd_per_gpu_hour.value;
    out.idle_usd_per_hour += idle[i] * gpus * group.price->usd_per_gpu_hour.value;
  }
  if (!priced) out.usd_per_hour = out.idle_usd_per_hour = 0;
  const Facility& facility = cluster.facility();
  out.network_w = facility.network_power_w;
  out.facility_w = facility.pue * out.machine_w() + facility.cooling_power_w;
  constexpr double kGramsPerKilogram = 1000;
  out.co2_kg_per_s = out.facility_w / kJoulesPerKilowattHour * facility.carbon.mean() / kGramsPerKilogram;
  return out;
}

}  // namespace mirfak
