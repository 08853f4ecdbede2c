// Energy, CO2 and money of several jobs on one cluster.
#include "base/units.hpp"
#include "report/jobs_report.hpp"
#include "report/text_table.hpp"
#include "simulation/cluster_draw.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

std::string cost_text(const IterationResult& result, double usd) {
  return result.priced ? format_usd(usd) : std::string("unknown");
}

// Returns the amount that the other jobs cause; "-" if it is within rounding.
template <typename Format>
std::string caused(double more, double of_all, const Format& format) {
  return more > 1e-9 * of_all ? format(more) : std::string("-");
}

std::string iterations_table(const JobsFile& file, const JointSimulation& simulation) {
  const bool facility = file.cluster.facility().asked;
  const bool carbon = file.cluster.facility().carbon.known();
  TextTable table("l" + std::string(4 + (facility ? 1 : 0) + (carbon ? 1 : 0) + 1, 'r'));
  std::vector<std::string> head = {"job", "GPUs draw", "each", "waiting for others", "cost", "waiting for others"};
  if (facility) head.emplace_back("facility");
  if (carbon) head.emplace_back("CO2");
  table.add_row(head);
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    const IterationResult& together = simulation.jobs[i].together;
    const WaitingForOthers waiting = waiting_for_others(simulation.jobs[i]);
    std::vector<std::string> row = {
        file.jobs[i].name,
        format_joules(together.energy_j),
        format_watts(together.average_power_w / together.gpus),
        caused(waiting.energy_j, together.energy_j, [](double joules) { return format_joules(joules); }),
        cost_text(together, together.cost_usd),
        together.priced ? caused(waiting.cost_usd, together.cost_usd, [](double usd) { return format_usd(usd); })
                        : std::string("-")};
    if (facility) row.push_back(format_joules(together.facility_energy_j));
    if (carbon) row.push_back(format_kilograms(together.co2_kg));
    table.add_row(std::move(row));
  }
  return table.text();
}

std::string cluster_table(const JobsFile& file, const JointSimulation& simulation) {
  const Facility& facility = file.cluster.facility();
  const ClusterDraw draw = cluster_draw(file.cluster, simulation);
  TextTable table("lrl");
  table.add_row({"GPUs of the jobs", format_watts(draw.jobs_w), ""});
  if (draw.idle_nodes > 0) {
    table.add_row({"GPUs of idle nodes", format_watts(draw.idle_w), fmt::format("{} nodes", draw.idle_nodes)});
  }
  if (facility.asked) {
    table.add_row(
        {"the machine", format_watts(draw.machine_w()),
         fmt::format("GPUs, hosts {}, network {}", format_watts(draw.hosts_w), format_watts(draw.network_w))});
    table.add_row({"the facility", format_watts(draw.facility_w), fmt::format("PUE {:g}", facility.pue)});
  }
  if (facility.carbon.known()) {
    table.add_row({"CO2", format_kilograms(draw.co2_kg_per_s * kSecondsPerHour) + " an hour",
                   fmt::format("{:.0f} g/kWh ({})", facility.carbon.mean(), facility.carbon.source())});
  }
  if (draw.usd_per_hour > 0) {
    table.add_row({"cost", format_usd(draw.usd_per_hour) + " an hour",
                   draw.idle_nodes > 0 ? format_usd(draw.idle_usd_per_hour) + " of idle nodes" : ""});
  } else {
    table.add_row({"cost", "unknown", file.cluster.missing_prices()});
  }
  return table.text();
}

}  // namespace

std::string jobs_energy_text(const JobsFile& file, const JointSimulation& simulation) {
  return "\nAn iteration beside the others, on average\n" + iterations_table(file, simulation) +
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
