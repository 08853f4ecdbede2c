#include "report/sensitivity_report.hpp"

#include "base/csv.hpp"
#include "base/units.hpp"
#include "report/job_text.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kFullBarWidth = 20;

// A value of a row in JSON and CSV.
struct GainColumn {
  const char* key;
  double (*value)(const ResourceGain& gain, const Sensitivity& all);
};
constexpr std::array kGainColumns = {
    GainColumn{"iteration_time_s", [](const ResourceGain& gain, const Sensitivity&) { return gain.iteration_time_s; }},
    GainColumn{"gained_s", [](const ResourceGain& gain, const Sensitivity&) { return gain.gained_s; }},
    GainColumn{"gained_share",
               [](const ResourceGain& gain, const Sensitivity& all) { return gain.gained_s / all.iteration_time_s; }},
    GainColumn{"elasticity", [](const ResourceGain& gain, const Sensitivity&) { return gain.elasticity; }},
};

// True for gains so small that they are rounding to whole picoseconds, task by task.
bool is_nothing(const ResourceGain& gain, const Sensitivity& all) {
  return std::abs(gain.gained_s) < 1e-7 * all.iteration_time_s;
}

std::string gained_text(double seconds) {
  return fmt::format("{}{}", seconds < 0 ? "-" : "", format_seconds(std::abs(seconds)));
}

}  // namespace

std::string sensitivity_text(const Sensitivity& sensitivity) {
  TextTable table("lrrrrl");
  table.add_row({"", "iteration", "gained", "", "elasticity"});
  std::string nothing;
  std::size_t idle = 0;
  for (const ResourceGain& gain : sensitivity.gains) {
    if (is_nothing(gain, sensitivity)) {
      nothing += (idle++ % 3 == 0 ? (idle == 1 ? "" : ",\n    ") : ", ") + gain.resource.title;
      continue;
    }
    const double share = gain.gained_s / sensitivity.iteration_time_s;
    const auto bar = static_cast<std::size_t>(std::lround(std::clamp(gain.elasticity, 0.0, 1.0) * kFullBarWidth));
    table.add_row({gain.resource.title, format_seconds(gain.iteration_time_s), gained_text(gain.gained_s),
                   format_percent(share), fmt::format("{:.3f}", gain.elasticity), std::string(bar, '#')});
  }
  std::string out = fmt::format("What {:g} times as much of one resource would make of {}\n", sensitivity.factor,
                                format_seconds(sensitivity.iteration_time_s)) +
                    table.text();
  if (!nothing.empty()) out += "  nothing from: " + nothing + "\n";
  return out + "  one at a time; gains do not add up, as what limits changes with each\n" +
         notes_text(sensitivity.notes);
}

nlohmann::ordered_json sensitivity_json(const Sensitivity& sensitivity) {
  nlohmann::ordered_json out = {{"factor", sensitivity.factor}, {"iteration_time_s", sensitivity.iteration_time_s}};
  nlohmann::ordered_json& resources = out["resources"] = nlohmann::ordered_json::array();
  for (const ResourceGain& gain : sensitivity.gains) {
    nlohmann::ordered_json& entry = resources.emplace_back();
    entry["resource"] = gain.resource.title;
    for (const GainColumn& column : kGainColumns) entry[column.key] = column.value(gain, sensitivity);
  }
  out["notes"] = sensitivity.notes;
  return out;
}

std::string sensitivity_csv(const Sensitivity& sensitivity) {
  std::string out = "resource,factor";
  for (const GainColumn& column : kGainColumns) out += fmt::format(",{}", column.key);
  out += '\n';
  for (const ResourceGain& gain : sensitivity.gains) {
    out += fmt::format("{},{}", csv_field(gain.resource.title), sensitivity.factor);
    for (const GainColumn& column : kGainColumns) out += fmt::format(",{}", column.value(gain, sensitivity));
    out += '\n';
  }
  return out;
}

}  // namespace mirfak
