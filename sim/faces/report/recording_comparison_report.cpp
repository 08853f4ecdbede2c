#include "report/recording_comparison_report.hpp"

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

std::optional<double> error_of(const RecordedAgainst& row) {
  if (!row.predicted_s || !row.measured_s || *row.measured_s <= 0) return std::nullopt;
  return *row.predicted_s / *row.measured_s - 1;
}

std::string table_of(const std::string& title, const std::vector<RecordedAgainst>& rows) {
  const auto shown = [](const std::optional<double>& time) { return time ? format_seconds(*time) : std::string("-"); };
  TextTable table("lrrr");
  table.add_row({"", "predicted", "measured", "error"});
  for (const RecordedAgainst& row : rows) {
    const auto error = error_of(row);
    table.add_row({excerpt(row.name), shown(row.predicted_s), shown(row.measured_s),
                   error ? format_signed_percent(*error) : std::string()});
  }
  return title + "\n" + table.text() + "\n";
}

Json rows_json(const std::vector<RecordedAgainst>& rows) {
  const auto json_of = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  Json out = Json::array();
  for (const RecordedAgainst& row : rows) {
    out.push_back({{"name", row.name},
                   {"predicted", json_of(row.predicted_s)},
                   {"measured", json_of(row.measured_s)},
                   {"error", json_of(error_of(row))}});
  }
  return out;
}

std::vector<std::string> doubts_of(const RecordingComparison& comparison) {
  std::vector<std::string> out;
  if (comparison.steps == 0) {
    out.emplace_back("no ProfilerStep is recorded: the whole recording stands for one iteration, of unknown length");
  }
  if (!comparison.rank_is_said) {
    out.push_back(
        fmt::format("the prediction has no tasks of the recorded rank, or the recording does not say it: rank {} "
                    "of the prediction stands for it",
                    comparison.rank));
  }
  if (!comparison.has_operators) {
    out.emplace_back("the prediction has passes, not kernels: simulate with --detail operators to compare by class");
  }
  return out;
}

}  // namespace

std::string recording_comparison_text(const RecordingComparison& comparison) {
  std::string out = fmt::format("{} against {}: rank {}, {} recorded steps", comparison.predicted, comparison.measured,
                                comparison.rank, comparison.steps);
  if (comparison.steps > 0) {
    out += fmt::format(" of {} to {}", format_seconds(comparison.shortest_s), format_seconds(comparison.longest_s));
  }
  out += "\n\n";
  std::vector<RecordedAgainst> totals{comparison.iteration};
  totals.insert(totals.end(), comparison.totals.begin(), comparison.totals.end());
  out += table_of("Iteration, mean of the steps", totals);
  out += table_of("Path of the rank: what computes, else communicates, else the GPU is idle", comparison.path);
  out += table_of("By class of kernel, and by operator of the prediction", comparison.classes);
  out += table_of("By stream", comparison.streams);
  for (const std::string& doubt : doubts_of(comparison)) out += "note: " + doubt + "\n";
  return out;
}

Json recording_comparison_json(const RecordingComparison& comparison) {
  return {{"predicted", comparison.predicted},
          {"measured", comparison.measured},
          {"rank", comparison.rank},
          {"rank_is_said", comparison.rank_is_said},
          {"steps", comparison.steps},
          {"shortest_s", comparison.shortest_s},
          {"longest_s", comparison.longest_s},
          {"iteration", rows_json({comparison.iteration})[0]},
          {"totals", rows_json(comparison.totals)},
          {"critical_path", rows_json(comparison.path)},
          {"classes", rows_json(comparison.classes)},
          {"streams", rows_json(comparison.streams)},
          {"notes", doubts_of(comparison)}};
}

}  // namespace mirfak
