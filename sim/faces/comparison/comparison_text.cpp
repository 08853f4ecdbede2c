#include "base/section.hpp"
#include "base/units.hpp"
#include "comparison/comparison_report.hpp"
#include "report/job_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

// Returns a figure with its range: "60.1 (55.1 to 70.9)".
template <typename Format>
std::string figure_text(const RangedFigure& figure, const Format& format) {
  std::string value = format(figure.value);
  if (figure.low == figure.high) return value;
  std::string low = format(figure.low);
  const std::string high = format(figure.high);
  const std::size_t unit = low.find(' ');
  if (unit != std::string::npos && high.ends_with(low.substr(unit))) low.resize(unit);
  return fmt::format("{} ({} to {})", value, low, high);
}

std::string days_text(double seconds) { return format_number(seconds / kSecondsPerDay); }

std::string energy_text(const OptionResult& row, bool mixed) {
  const bool of_facility = row.facility_j.has_value();
  return format_watt_hours((of_facility ? *row.facility_j : row.energy_j).value) + (mixed && !of_facility ? "*" : "");
}

bool any_runs(const Comparison& comparison, bool (*has)(const OptionResult&)) {
  return std::any_of(comparison.rows.begin(), comparison.rows.end(),
                     [has](const OptionResult& row) { return row.runs() && has(row); });
}

std::string place_of(std::size_t i, const OptionResult& row) {
  return fmt::format("{}{}", row.ties_with_first ? "=" : "", i + 1);
}

// Returns the words for a row that is done in time, surely or maybe, or too late.
std::string in_time_text(const OptionResult& row) {
  if (!row.in_time) return "TOO LATE";
  return row.surely_in_time ? "yes" : "maybe";
}

std::string rows_text(const ComparisonFile& file, const Comparison& comparison) {
  const bool dated = file.sizing.finish_by.has_value();
  const bool limited = file.sizing.deadline_s > 0;
  const bool facility = any_runs(comparison, [](const OptionResult& row) { return row.facility_j.has_value(); });
  const bool bare = any_runs(comparison, [](const OptionResult& row) { return !row.facility_j.has_value(); });
  const bool emits = any_runs(comparison, [](const OptionResult& row) { return row.co2_kg.has_value(); });
  Table table(
      "> | option | >nodes | >GPUs | >iteration | >days | >cost | >energy | >CO2 | >free | in time | start by (to be "
      "sure)");
  table.show("CO2", emits);
  table.show("in time", limited);
  table.show("start by (to be sure)", dated);
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const OptionResult& row = comparison.rows[i];
    if (!row.runs()) continue;
    table.add({place_of(i, row), row.option, row.nodes, row.gpus, in_seconds(row.best()->iteration.iteration_time_s),
               figure_text(row.finish_s, days_text), row.cost_usd ? figure_text(*row.cost_usd, format_usd) : "unknown",
               energy_text(row, facility && bare), row.co2_kg ? format_kilograms(row.co2_kg->value) : "unknown",
               in_percent(row.memory_headroom), in_time_text(row),
               dated ? fmt::format("{} ({})", date_text(*row.start), date_text(*row.sure_start)) : ""});
  }
  return table.text();
}

std::string option_strategies(const Comparison& comparison) {
  Table table(">||");
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const OptionResult& row = comparison.rows[i];
    if (row.runs()) table.add({place_of(i, row), row.option, option_strategy(row)});
    if (row.runs() && !row.file.empty()) table.add({"", "", row.file});
  }
  return "\nTheir strategies\n" + table.text();
}

std::string refusals_text(const Comparison& comparison) {
  Table table("|>|");
  for (const OptionResult& row : comparison.rows) {
    if (row.runs()) continue;
    table.add({row.option, row.nodes > 0 ? fmt::format("{} nodes", row.nodes) : "", reason_text(row)});
  }
  const std::string text = table.text();
  return text.empty() ? text : "\nWhat does not run\n" + text;
}

}  // namespace

std::string comparison_winner(const Comparison& comparison) {
  constexpr std::string_view feats[] = {"is the cheapest", "is the fastest", "takes the fewest GPUs",
                                        "takes the least energy", "emits the least CO2"};
  const OptionResult& first = comparison.rows.front();
  if (!first.runs() || !first.in_time) return "";
  std::vector<const OptionResult*> others;
  for (const OptionResult& row : comparison.rows) {
    if (&row != &first && row.runs() && row.in_time) others.push_back(&row);
  }
  const auto named = [](const OptionResult& row) { return fmt::format("{} on {} nodes", row.option, row.nodes); };
  std::string out = fmt::format("{} {}: {} days{}", named(first),
                                others.empty() ? "is the only one" : feats[static_cast<std::size_t>(comparison.order)],
                                days_text(first.finish_s.value),
                                first.cost_usd ? fmt::format(", {}", format_usd(first.cost_usd->value)) : "");
  const auto ties =
      std::count_if(others.begin(), others.end(), [](const OptionResult* row) { return row->ties_with_first; });
  if (ties > 1) return out + fmt::format("; {} others could change places with it.", ties);
  if (ties == 1) return out + fmt::format("; {} could change places with it.", named(*others.front()));
  return out + (others.empty() ? "." : fmt::format("; {} is next.", named(*others.front())));
}

std::string comparison_text(const ComparisonFile& file, const Comparison& comparison) {
  std::string out = file.name + "\n";
  const auto known = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                  [](const OptionResult& row) { return row.scenario.has_value(); });
  if (known != comparison.rows.end()) {
    const Job& job = known->scenario->job;
    out += fmt::format("{}; {} on {} tokens\n", model_text(job.model), sequences_text(job.training),
                       format_count(job.training.tokens));
  }
  out += "\n" + comparison_question(file, comparison) + "\n";
  const bool runs = any_runs(comparison, [](const OptionResult&) { return true; });
  if (runs) out += rows_text(file, comparison);
  if (const std::string winner = comparison_winner(comparison); !winner.empty()) out += winner + "\n";
  if (runs) out += option_strategies(comparison);
  return out + refusals_text(comparison) + notes_text(comparison_remarks(comparison));
}

}  // namespace mirfak
