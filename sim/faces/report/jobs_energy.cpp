// Energy, CO2 and money of several jobs on one cluster.
#include "base/section.hpp"
#include "base/units.hpp"
#include "report/jobs_report.hpp"
#include "simulation/cluster_draw.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// Returns the amount that the other jobs cause; "-" if it is within rounding.
Cell caused(double more, double of_all, Unit unit) { return more > 1e-9 * of_all ? Cell(more, unit) : words("-"); }

std::string iterations_table(const JobsFile& file, const JointSimulation& simulation) {
  const Facility& of_file = file.cluster.facility();
  Table table("job | >GPUs draw | >each | >waiting for others | >cost | >waiting for others | >facility | >CO2");
  table.show("facility", of_file.asked);
  table.show("CO2", of_file.carbon.known());
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    const IterationResult& together = simulation.jobs[i].together;
    const WaitingForOthers waiting = waiting_for_others(simulation.jobs[i]);
    table.add({file.jobs[i].name, in_joules(together.energy_j), in_watts(together.average_power_w / together.gpus),
               caused(waiting.energy_j, together.energy_j, Unit::joules),
               together.priced ? in_usd(together.cost_usd) : words("unknown"),
               together.priced ? caused(waiting.cost_usd, together.cost_usd, Unit::usd) : words("-"),
               in_joules(together.facility_energy_j), in_kilograms(together.co2_kg)});
  }
  return table.text();
}

std::string cluster_table(const JobsFile& file, const JointSimulation& simulation) {
  const Facility& facility = file.cluster.facility();
  const ClusterDraw draw = cluster_draw(file.cluster, simulation);
  Table table("|>|");
  table.add({"GPUs of the jobs", format_watts(draw.jobs_w), ""});
  if (draw.idle_nodes > 0) {
    table.add({"GPUs of idle nodes", format_watts(draw.idle_w), fmt::format("{} nodes", draw.idle_nodes)});
  }
  if (facility.asked) {
    table.add({"the machine", format_watts(draw.machine_w()),
               fmt::format("GPUs, hosts {}, network {}", format_watts(draw.hosts_w), format_watts(draw.network_w))});
    table.add({"the facility", format_watts(draw.facility_w), fmt::format("PUE {:g}", facility.pue)});
  }
  if (facility.carbon.known()) {
    table.add({"CO2", format_kilograms(draw.co2_kg_per_s * kSecondsPerHour) + " an hour",
               fmt::format("{:.0f} g/kWh ({})", facility.carbon.mean(), facility.carbon.source())});
  }
  if (draw.usd_per_hour > 0) {
    table.add({"cost", format_usd(draw.usd_per_hour) + " an hour",
               draw.idle_nodes > 0 ? format_usd(draw.idle_usd_per_hour) + " of idle nodes" : ""});
  } else {
    table.add({"cost", "unknown", file.cluster.missing_prices()});
  }
  return table.text();
}

}  // namespace

std::string jobs_energy_text(const JobsFile& file, const JointSimulation& simulation) {
  return "\nAn iteration with the others running, on average\n" + iterations_table(file, simulation) +
         "\nThe cluster while all jobs run\n" + cluster_table(file, simulation);
}

Json waiting_json(const JobsFile& file, const JobAmongOthers& job) {
  const WaitingForOthers waiting = waiting_for_others(job);
  Json out{{"energy_j", waiting.energy_j}, {"cost_usd", job.together.priced ? Json(waiting.cost_usd) : Json()}};
  if (!file.cluster.facility().asked) return out;
  out["facility_energy_j"] = waiting.facility_energy_j;
  out["co2_kg"] = file.cluster.facility().carbon.known() ? Json(waiting.co2_kg) : Json();
  return out;
}

Json cluster_json(const JobsFile& file, const JointSimulation& simulation) {
  const Facility& facility = file.cluster.facility();
  const ClusterDraw draw = cluster_draw(file.cluster, simulation);
  const double seconds = simulation.together_s();
  const bool priced = draw.usd_per_hour > 0;
  Json out{{"idle_nodes", draw.idle_nodes},
           {"average_power_w", draw.jobs_w + draw.idle_w},
           {"energy_j", (draw.jobs_w + draw.idle_w) * seconds},
           {"idle_energy_j", draw.idle_w * seconds},
           {"cost_usd", priced ? Json(draw.usd_per_hour * seconds / kSecondsPerHour) : Json()},
           {"idle_cost_usd", priced ? Json(draw.idle_usd_per_hour * seconds / kSecondsPerHour) : Json()}};
  if (!facility.asked) return out;
  out["machine_energy_j"] = draw.machine_w() * seconds;
  out["facility_energy_j"] = draw.facility_w * seconds;
  out["co2_kg"] = facility.carbon.known() ? Json(draw.co2_kg_per_s * seconds) : Json();
  return out;
}

}  // namespace mirfak
