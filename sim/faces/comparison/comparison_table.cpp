// Figures and sentences that all forms of a comparison share.

#include "base/section.hpp"
#include "base/units.hpp"
#include "comparison/comparison_report.hpp"
#include "report/search_report.hpp"
#include "report/strategy_columns.hpp"
#include "scenario/stated_notes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

std::optional<double> when_run(const OptionResult& row, double value) {
  return row.runs() ? std::optional(value) : std::nullopt;
}

template <auto Figure, auto Part>
std::optional<double> ranged(const OptionResult& row) {
  return when_run(row, (row.*Figure).*Part);
}

template <auto Figure, auto Part>
std::optional<double> ranged_if_known(const OptionResult& row) {
  const std::optional<RangedFigure>& figure = row.*Figure;
  return figure ? when_run(row, (*figure).*Part) : std::nullopt;
}

template <auto Part>
std::optional<double> of_iteration(const OptionResult& row) {
  if (!row.runs()) return std::nullopt;
  const double value = row.best()->iteration.*Part;
  return value > 0 ? std::optional(value) : std::nullopt;
}

// A number of a row, with its key in JSON and CSV. `value` returns nothing if the number is not known.
struct ComparisonFigure {
  const char* key;
  std::optional<double> (*value)(const OptionResult& row);
};

constexpr auto kValue = &RangedFigure::value;
constexpr auto kLow = &RangedFigure::low;
constexpr auto kHigh = &RangedFigure::high;

constexpr std::array kComparisonFigures = {
    ComparisonFigure{"nodes", [](const OptionResult& row) { return std::optional<double>(row.nodes); }},
    ComparisonFigure{"gpus", [](const OptionResult& row) { return std::optional<double>(row.gpus); }},
    ComparisonFigure{"iteration_time_s", of_iteration<&IterationResult::iteration_time_s>},
    ComparisonFigure{"iteration_time_low_s", of_iteration<&IterationResult::iteration_time_low_s>},
    ComparisonFigure{"iteration_time_high_s", of_iteration<&IterationResult::iteration_time_high_s>},
    ComparisonFigure{"mfu", of_iteration<&IterationResult::mfu>},
    ComparisonFigure{"finish_time_s", ranged<&OptionResult::finish_s, kValue>},
    ComparisonFigure{"finish_time_low_s", ranged<&OptionResult::finish_s, kLow>},
    ComparisonFigure{"finish_time_high_s", ranged<&OptionResult::finish_s, kHigh>},
    ComparisonFigure{"cost_usd", ranged_if_known<&OptionResult::cost_usd, kValue>},
    ComparisonFigure{"cost_low_usd", ranged_if_known<&OptionResult::cost_usd, kLow>},
    ComparisonFigure{"cost_high_usd", ranged_if_known<&OptionResult::cost_usd, kHigh>},
    ComparisonFigure{"energy_j", ranged<&OptionResult::energy_j, kValue>},
    ComparisonFigure{"energy_low_j", ranged<&OptionResult::energy_j, kLow>},
    ComparisonFigure{"energy_high_j", ranged<&OptionResult::energy_j, kHigh>},
    ComparisonFigure{"facility_energy_j", ranged_if_known<&OptionResult::facility_j, kValue>},
    ComparisonFigure{"co2_kg", ranged_if_known<&OptionResult::co2_kg, kValue>},
    ComparisonFigure{"co2_low_kg", ranged_if_known<&OptionResult::co2_kg, kLow>},
    ComparisonFigure{"co2_high_kg", ranged_if_known<&OptionResult::co2_kg, kHigh>},
    ComparisonFigure{"memory_headroom", [](const OptionResult& row) { return when_run(row, row.memory_headroom); }},
};

const char* order_words(ComparisonOrder order) {
  switch (order) {
    case ComparisonOrder::cost:
      return "the cheapest first";
    case ComparisonOrder::time:
      return "the fastest first";
    case ComparisonOrder::gpus:
      return "the fewest GPUs first";
    case ComparisonOrder::energy:
      return "the least energy first";
    case ComparisonOrder::co2:
      break;
  }
  return "the least CO2 first";
}

std::string limit_words(const Sizing& sizing) {
  if (sizing.start) {
    return fmt::format("from {} to the end of {}", date_text(*sizing.start), date_text(*sizing.finish_by));
  }
  return sizing.deadline_s > 0 ? "within " + format_seconds(sizing.deadline_s) : std::string();
}

Cell date_cell(const std::optional<std::chrono::sys_days>& date) { return date ? Cell(date_text(*date)) : Cell(); }

// Returns the rows as programs read them.
Table options_table(const Comparison& comparison) {
  Table table("-:option | -:runs");
  for (const ComparisonFigure& figure : kComparisonFigures) table.add_key(figure.key);
  for (const char* key : {"in_time", "surely_in_time", "latest_start", "latest_sure_start", "ties_with_first",
                          "strategy", "reason", "scenario"}) {
    table.add_key(key);
  }
  for (const OptionResult& row : comparison.rows) {
    std::vector<Cell> cells = {row.option, row.runs()};
    for (const ComparisonFigure& figure : kComparisonFigures) cells.push_back(as_number(figure.value(row)));
    cells.insert(cells.end(),
                 {row.runs() && row.in_time, row.runs() && row.surely_in_time, date_cell(row.start),
                  date_cell(row.sure_start), row.ties_with_first, row.runs() ? Cell(option_strategy(row)) : Cell(),
                  row.runs() ? Cell() : Cell(reason_text(row)), row.file.empty() ? Cell() : Cell(row.file)});
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

std::string reason_text(const OptionResult& row) {
  if (!row.refused.empty()) return row.refused;
  return search_failure_reason(SearchReport{*row.scenario, row.outcome, {}});
}

std::string option_strategy(const OptionResult& row) { return whole_strategy_text(row.best()->found.job); }

std::string comparison_question(const ComparisonFile& file, const Comparison& comparison) {
  const Sizing& sizing = file.sizing;
  const std::string order = order_words(comparison.order);
  switch (sizing.goal) {
    case SizingGoal::fewest_gpus:
      return fmt::format("The fewest GPUs of each option that are done {}; {}", limit_words(sizing), order);
    case SizingGoal::least_money:
      return fmt::format("The cheapest of each option that is done {}; {}", limit_words(sizing), order);
    case SizingGoal::latest_start:
      return fmt::format("The latest day on which each must start to be done by the end of {}; {}",
                         date_text(*sizing.finish_by), order);
    case SizingGoal::all:
      break;
  }
  const std::string limit = limit_words(sizing);
  return limit.empty() ? "The best strategy of each; " + order : fmt::format("Who is done {}; {}", limit, order);
}

std::vector<std::string> comparison_remarks(const Comparison& comparison) {
  std::vector<std::string> out;
  out.emplace_back(comparison.with_operations
                       ? "times are expected ones with failures, checkpoints and pauses, in closed form: without waits "
                         "for repairs, which mirfak train simulates; what spares draw is left out"
                       : "times are of iterations alone: the section operations would add failures and checkpoints");
  const auto ranged_row = std::find_if(comparison.rows.begin(), comparison.rows.end(), [](const OptionResult& row) {
    return row.scenario && row.scenario->job.ranges.known();
  });
  if (ranged_row != comparison.rows.end()) {
    out.push_back(
        fmt::format("ranges are those in which {:.0f} % of measured iterations lie; what ties (=) could change "
                    "places with the first if both were measured",
                    100 * ranged_row->scenario->job.ranges.level));
  }
  const auto states = [&](bool stated) {
    return std::any_of(comparison.rows.begin(), comparison.rows.end(),
                       [&](const OptionResult& row) { return row.runs() && row.facility_j.has_value() == stated; });
  };
  if (states(true) && states(false)) {
    out.emplace_back("energy marked with * is of GPUs alone, as nothing is said of the facility; else of the facility");
  } else if (states(false)) {
    out.emplace_back("energy is of GPUs alone: pue and others of cluster's keys add hosts, network and the facility");
  }
  const auto read_row = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                     [](const OptionResult& row) { return row.scenario.has_value(); });
  if (read_row != comparison.rows.end()) {
    for (std::string& note : stated_notes(read_row->scenario->document)) out.push_back(std::move(note));
    for (std::string& note : notes_unchecked(read_row->scenario->assertions)) out.push_back(std::move(note));
  }
  if (!comparison.complete) out.emplace_back("stopped: not all options were searched to the end");
  return out;
}

nlohmann::ordered_json comparison_json(const ComparisonFile& file, const Comparison& comparison) {
  Json out = Json::object();
  out["file"] = file.name;
  out["want"] = sizing_goal_names()[static_cast<std::size_t>(file.sizing.goal)];
  out["order"] = comparison_order_names()[static_cast<std::size_t>(comparison.order)];
  out["deadline_s"] = file.sizing.deadline_s > 0 ? Json(file.sizing.deadline_s) : Json();
  out["with_operations"] = comparison.with_operations;
  out["complete"] = comparison.complete;
  out["options"] = options_table(comparison).json();
  out["notes"] = comparison_remarks(comparison);
  return out;
}

std::string comparison_csv(const Comparison& comparison) { return options_table(comparison).csv(); }

}  // namespace mirfak
