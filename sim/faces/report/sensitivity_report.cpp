#include "report/sensitivity_report.hpp"

#include "base/section.hpp"
#include "base/units.hpp"
#include "report/job_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kFullBarWidth = 20;

// True for gains so small that they are rounding to whole picoseconds, task by task.
bool is_nothing(const ResourceGain& gain, const Sensitivity& all) {
  return std::abs(gain.gained_s) < 1e-7 * all.iteration_time_s;
}

// Returns a row for each resource; resources that gain nothing are for programs.
Table gains_table(const Sensitivity& all) {
  Table table(
      ":resource | -:factor | >iteration:iteration_time_s | >gained:gained_s | >:gained_share | >elasticity:elasticity "
      "|");
  for (const ResourceGain& gain : all.gains) {
    const std::string gained = (gain.gained_s < 0 ? "-" : "") + format_seconds(std::abs(gain.gained_s));
    table.add({gain.resource.title, as_number(all.factor), in_seconds(gain.iteration_time_s),
               Cell(gained, gain.gained_s), in_percent(gain.gained_s / all.iteration_time_s),
               Cell(fmt::format("{:.3f}", gain.elasticity), gain.elasticity),
               bar_text(std::clamp(gain.elasticity, 0.0, 1.0), kFullBarWidth)},
              is_nothing(gain, all) ? Readers::programs : Readers::all);
  }
  return table;
}

}  // namespace

std::string sensitivity_text(const Sensitivity& sensitivity) {
  std::string nothing;
  std::size_t idle = 0;
  for (const ResourceGain& gain : sensitivity.gains) {
    if (!is_nothing(gain, sensitivity)) continue;
    nothing += (idle++ % 3 == 0 ? (idle == 1 ? "" : ",\n    ") : ", ") + gain.resource.title;
  }
  std::string out = fmt::format("What {:g} times as much of one resource would make of {}\n", sensitivity.factor,
                                format_seconds(sensitivity.iteration_time_s)) +
                    gains_table(sensitivity).text();
  if (!nothing.empty()) out += "  nothing from: " + nothing + "\n";
  return out + "  one at a time; gains do not add up, as what limits changes with each\n" +
         notes_text(sensitivity.notes);
}

nlohmann::ordered_json sensitivity_json(const Sensitivity& sensitivity) {
  nlohmann::ordered_json resources = gains_table(sensitivity).json();
  for (nlohmann::ordered_json& row : resources) row.erase("factor");
  return {{"factor", sensitivity.factor},
          {"iteration_time_s", sensitivity.iteration_time_s},
          {"resources", std::move(resources)},
          {"notes", sensitivity.notes}};
}

std::string sensitivity_csv(const Sensitivity& sensitivity) { return gains_table(sensitivity).csv(); }

}  // namespace mirfak
