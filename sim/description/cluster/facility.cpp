#include "cluster/facility.hpp"

#include "base/csv.hpp"
#include "base/file_reference.hpp"
#include "base/units.hpp"
#include "base/yaml.hpp"
#include "cluster/profile_file.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace mirfak {

namespace {

constexpr double kMaxWatts = 1e12;
constexpr double kMaxGrams = 5000;  // twice the worst power station
constexpr double kMaxPue = 10;
constexpr double kSecondsPerYear = 365.25 * kSecondsPerDay;

CarbonIntensity read_grid(const Node& name, const std::filesystem::path& hardware) {
  ProfileFile file(hardware / "grids.yaml");
  file.title();
  Mapping grids(file.root().require("grids"));
  std::optional<CarbonIntensity> found;
  for (const std::string& grid : grids.keys()) {
    const Figure figure = file.figure(grids, grid, 0, kMaxGrams);
    if (grid == name.as_string()) found = CarbonIntensity({figure.value}, figure.source);
  }
  grids.finish();
  file.finish();
  if (!found) FileReference(name).fail_unknown("grid", grids.keys());
  return *found;
}

CarbonIntensity read_hours(const Node& name) {
  const std::filesystem::path path = FileReference(name).path();
  const CsvTable table = CsvTable::from_file(path, kSmallTableFile);
  const std::size_t column = table.require("g_per_kwh");
  std::vector<double> hours;
  for (std::size_t row = 0; row < table.rows(); ++row) hours.push_back(table.number(row, column, 0, kMaxGrams));
  if (hours.empty())
    name.fail("expected a row for every hour, found none", "write the column g_per_kwh, an hour a row");
  return {std::move(hours), path.filename().string()};
}

bool is_number(const Node& value) {
  const std::string text = value.as_string();
  return !text.empty() && text.find_first_not_of("+-.0123456789eE") == std::string::npos;
}

bool is_table(const Node& value) {
  const std::string text = value.as_string();
  return text.find('/') != std::string::npos || text.ends_with(".csv");
}

void read_carbon(const Node& value, const std::filesystem::path& hardware, Facility& facility) {
  if (!value.is_scalar()) {
    value.fail("expected grams of CO2 per kilowatt-hour, the name of a grid, or the path of a CSV, found " +
               value.described());
  }
  facility.carbon_asked = value.value().scalar;
  if (!value.value().quoted && is_number(value)) {
    facility.carbon = CarbonIntensity({value.as_number(0, kMaxGrams)}, "the scenario");
  } else if (is_table(value)) {
    facility.carbon = read_hours(value);
    facility.carbon_asked = quoted_yaml(std::filesystem::absolute(FileReference(value).path()).string());
  } else {
    facility.carbon = read_grid(value, hardware);
  }
}

PowerFloor read_power_floor(const Node& node) {
  constexpr double kMaxRamp = 1e6;  // W/s of one GPU
  Mapping stated(node);
  PowerFloor floor;
  floor.share = stated.number_or("share", 0, 0, 1);
  const auto read_ramp = [&](const char* key, double& ramp, const char* hint) {
    const std::optional<Node> of = stated.find(key);
    if (!of) return;
    ramp = of->as_number(0, kMaxRamp);
    if (ramp == 0) of->fail("expected more than 0", hint);
  };
  read_ramp("ramp_down_w_per_s", floor.ramp_down_w_per_s, "leave it out for power that falls at once");
  read_ramp("ramp_up_w_per_s", floor.ramp_up_w_per_s, "leave it out for power that rises at once");
  if (const std::optional<Node> slows = stated.find("ramp_up_slows_work")) {
    floor.ramp_up_slows_work = slows->as_bool();
    for (const char* key : {"ramp_up_w_per_s", "ramp_down_w_per_s"}) {
      if (!floor.ramp_up_slows_work || stated.has(key)) continue;
      slows->fail(fmt::format("no {} is stated: power rises from where it has fallen to", key),
                  fmt::format("write {}, or leave out ramp_up_slows_work", key));
    }
  }
  floor.slowdown = stated.number_or("slowdown", 0, 0, 1);
  stated.finish();
  if (floor.share == 0 && floor.ramp_down_w_per_s == 0 && floor.ramp_up_w_per_s == 0) {
    node.fail("a floor of nothing", "write share, ramp_down_w_per_s, ramp_up_w_per_s, or several");
  }
  return floor;
}

StaggeredReplicas read_staggered(const Node& node) {
  constexpr std::int64_t kMostGroups = 1024;
  constexpr double kMaxStep_s = 1000;
  Mapping stated(node);
  StaggeredReplicas out;
  out.groups = static_cast<int>(stated.require("groups").as_integer(2, kMostGroups));
  out.step_s = stated.require("step_s").as_number(0, kMaxStep_s);
  if (out.step_s == 0) stated.require("step_s").fail("expected more than 0", "leave staggered_replicas out");
  stated.finish();
  return out;
}

void read_embodied(const Node& node, Facility& facility) {
  Mapping embodied(node);
  facility.embodied_kg_per_gpu = embodied.require("kg_per_gpu").as_number(0, 1e6);
  facility.lifetime_years = embodied.require("lifetime_years").as_number(0.1, 100);
  embodied.finish();
}

}  // namespace

double Facility::embodied_kg(double gpu_seconds) const {
  return lifetime_years == 0 ? 0 : embodied_kg_per_gpu * gpu_seconds / (lifetime_years * kSecondsPerYear);
}

Facility read_facility(Mapping& cluster, const std::filesystem::path& hardware) {
  Facility facility;
  facility.power_cap_w = cluster.number_or("power_cap_w", 0, 1, kMaxWatts);
  for (const char* key : {"network_power_w", "cooling_power_w", "pue", "carbon_g_per_kwh", "embodied"}) {
    facility.asked = facility.asked || cluster.has(key);
  }
  facility.network_power_w = cluster.number_or("network_power_w", 0, 0, kMaxWatts);
  facility.cooling_power_w = cluster.number_or("cooling_power_w", 0, 0, kMaxWatts);
  facility.pue = cluster.number_or("pue", 1, 1, kMaxPue);
  if (facility.cooling_power_w > 0 && facility.pue > 1) {
    cluster.find("cooling_power_w")
        ->fail("pue counts the power of cooling already", "leave out cooling_power_w, or pue");
  }
  if (const std::optional<Node> floor = cluster.find("power_floor")) facility.power_floor = read_power_floor(*floor);
  if (const std::optional<Node> staggered = cluster.find("staggered_replicas")) {
    facility.staggered_replicas = read_staggered(*staggered);
  }
  if (const std::optional<Node> carbon = cluster.find("carbon_g_per_kwh")) read_carbon(*carbon, hardware, facility);
  if (const std::optional<Node> embodied = cluster.find("embodied")) read_embodied(*embodied, facility);
  return facility;
}

}  // namespace mirfak
