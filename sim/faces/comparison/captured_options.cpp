#include "comparison/captured_options.hpp"

#include "base/error.hpp"
#include "base/section.hpp"
#include "base/units.hpp"
#include "capture/capture_figures.hpp"
#include "capture/capture_report.hpp"
#include "capture/capture_simulation.hpp"
#include "report/job_text.hpp"
#include "scenario/stated_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// Figures of a row in JSON and CSV.
constexpr std::array kRowFigures = {
    "iteration_time_s",        "hardware_tflops_per_gpu", "bubble_fraction",
    "exposed_communication_s", "cost_usd_per_iteration",  "energy_j",
    "average_power_w",         "facility_energy_j",       "co2_kg",
    "memory_peak_bytes",       "memory_capacity_bytes",   "memory_headroom",
};

void refuse_sizing(const ComparisonFile& file) {
  const Sizing& sizing = file.sizing;
  if (sizing.goal == SizingGoal::all && sizing.deadline_s == 0 && !sizing.finish_by) return;
  fail_input({file.name, 0, 0}, "sizing: a capture is of one step, and nothing says how many the training has",
             "leave sizing out");
}

// Returns each note of the rows once, with the options that it is about, unless it is about all of them.
std::vector<std::string> joint_notes(const std::vector<CapturedOption>& rows) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_note;
  for (const CapturedOption& row : rows) {
    for (const std::string& note : row.notes) {
      auto known = std::find_if(by_note.begin(), by_note.end(), [&](const auto& of) { return of.first == note; });
      if (known == by_note.end()) known = by_note.insert(by_note.end(), {note, {}});
      known->second.push_back(row.option);
    }
  }
  std::vector<std::string> out;
  for (const auto& [note, options] : by_note) {
    out.push_back(options.size() == rows.size() ? note : fmt::format("{}: {}", fmt::join(options, ", "), note));
  }
  return out;
}

CapturedOption evaluated(const ComparisonChoice& choice, const CaptureSources& sources) {
  if (!names_capture(choice.document)) {
    fail_input(choice.where, fmt::format("{}: is of a model, and other options are of a capture", choice.option),
               "compare options of one program");
  }
  const CapturedScenario scenario = read_captured_scenario(choice.document, sources);
  CapturedOption out;
  out.option = choice.option;
  out.nodes = scenario.cluster.nodes();
  out.gpus = scenario.cluster.gpus();
  out.notes = stated_notes(scenario.document);
  for (std::string& note : notes_unchecked(scenario.assertions)) out.notes.push_back(std::move(note));
  if (out.gpus < scenario.capture->world_size) {
    out.refused =
        fmt::format("the capture is of {} ranks, and there are {} GPUs", scenario.capture->world_size, out.gpus);
    return out;
  }
  try {
    const CaptureResult result = simulate(scenario, sources).result;
    out.notes.insert(out.notes.end(), result.notes.begin(), result.notes.end());
    out.values = figure_values(result, scenario.cluster.facility());
    if (!result.fits) out.refused = memory_need_text(result);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    out.refused = error.message();
  }
  return out;
}

// Returns the figure that orders rows; an unknown figure comes last.
double ordered_by(const CapturedOption& row, ComparisonOrder order) {
  constexpr double unknown = std::numeric_limits<double>::max();
  switch (order) {
    case ComparisonOrder::cost:
      return row.value("cost_usd_per_iteration").value_or(unknown);
    case ComparisonOrder::time:
      return row.value("iteration_time_s").value_or(unknown);
    case ComparisonOrder::gpus:
      return row.gpus;
    case ComparisonOrder::energy:
      return row.value("facility_energy_j").value_or(row.value("energy_j").value_or(unknown));
    case ComparisonOrder::co2:
      break;
  }
  return row.value("co2_kg").value_or(unknown);
}

Table rows_for_programs(const CapturedComparison& comparison) {
  Table table("-:option | -:runs | -:nodes | -:gpus");
  for (const char* key : kRowFigures) table.add_key(key);
  table.add_key("reason");
  for (const CapturedOption& row : comparison.rows) {
    std::vector<Cell> cells = {row.option, row.runs(), row.nodes, row.gpus};
    for (const char* key : kRowFigures) cells.push_back(as_number(row.value(key)));
    cells.push_back(row.runs() ? Cell() : Cell(row.refused));
    table.add(std::move(cells));
  }
  return table;
}

Table rows_for_people(const CapturedComparison& comparison) {
  Table table("option | >nodes | >GPUs | >step | >cost of a step | >energy of a step | >CO2 | >free");
  const bool emits = std::any_of(comparison.rows.begin(), comparison.rows.end(),
                                 [](const CapturedOption& row) { return row.value("co2_kg").has_value(); });
  table.show("CO2", emits);
  for (const CapturedOption& row : comparison.rows) {
    if (!row.runs()) continue;
    const auto cell = [&](const char* key, Unit unit) { return Cell(row.value(key), unit); };
    table.add({row.option, row.nodes, row.gpus, cell("iteration_time_s", Unit::seconds),
               cell("cost_usd_per_iteration", Unit::usd), cell("energy_j", Unit::joules),
               cell("co2_kg", Unit::kilograms), cell("memory_headroom", Unit::share)});
  }
  return table;
}

}  // namespace

std::optional<double> CapturedOption::value(std::string_view key) const {
  const auto found = std::find_if(values.begin(), values.end(), [&](const FigureValue& of) { return of.key() == key; });
  return found != values.end() && found->known ? std::optional(found->number) : std::nullopt;
}

bool compares_captures(const ComparisonFile& file) {
  return std::any_of(file.choices.begin(), file.choices.end(),
                     [](const ComparisonChoice& choice) { return names_capture(choice.document); });
}

CapturedComparison compare_captures(const ComparisonFile& file, const DataFolders& folders,
                                    const ComparisonProgress& progress, const SearchStop& stop) {
  refuse_sizing(file);
  const CaptureSources sources{ScenarioSources(folders)};
  CapturedComparison out;
  for (const ComparisonChoice& choice : file.choices) {
    if (stop && stop()) break;
    out.rows.push_back(evaluated(choice, sources));
    if (progress) progress(out.rows.size());
  }
  out.complete = out.rows.size() == file.choices.size();
  std::stable_sort(out.rows.begin(), out.rows.end(), [&](const CapturedOption& a, const CapturedOption& b) {
    return std::tuple(!a.runs(), ordered_by(a, file.order)) < std::tuple(!b.runs(), ordered_by(b, file.order));
  });
  out.notes = joint_notes(out.rows);
  if (!out.complete) out.notes.emplace_back("stopped: not all options were executed");
  return out;
}

std::string captured_comparison_text(const ComparisonFile& file, const CapturedComparison& comparison) {
  std::string out = fmt::format("{}\n\nA step of the captured program on each, by {}\n", file.name,
                                comparison_order_names()[static_cast<std::size_t>(file.order)]);
  const auto runs = [](const CapturedOption& row) { return row.runs(); };
  if (std::any_of(comparison.rows.begin(), comparison.rows.end(), runs)) out += rows_for_people(comparison).text();
  Table refused("|>|");
  for (const CapturedOption& row : comparison.rows) {
    if (!row.runs()) refused.add({row.option, fmt::format("{} nodes", row.nodes), row.refused});
  }
  if (!refused.empty()) out += "\nWhat does not run\n" + refused.text();
  return out + notes_text(comparison.notes);
}

nlohmann::ordered_json captured_comparison_json(const ComparisonFile& file, const CapturedComparison& comparison) {
  Json out = Json::object();
  out["file"] = file.name;
  out["order"] = comparison_order_names()[static_cast<std::size_t>(file.order)];
  out["complete"] = comparison.complete;
  out["options"] = rows_for_programs(comparison).json();
  out["notes"] = comparison.notes;
  return out;
}

std::string captured_comparison_csv(const CapturedComparison& comparison) {
  return rows_for_programs(comparison).csv();
}

}  // namespace mirfak
