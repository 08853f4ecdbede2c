#include "trace/recording_comparison_report.hpp"

#include "base/section.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

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

Table table_of(const std::vector<RecordedAgainst>& rows) {
  Table table(":name | >predicted:predicted | >measured:measured | >error:error");
  for (const RecordedAgainst& row : rows) {
    const auto error = error_of(row);
    table.add({Cell(excerpt(row.name), row.name), in_seconds(row.predicted_s), in_seconds(row.measured_s),
               error ? Cell(format_signed_percent(*error), *error) : Cell()});
  }
  return table;
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
  const auto add = [&](const char* title, const std::vector<RecordedAgainst>& rows) {
    out += fmt::format("{}\n{}\n", title, table_of(rows).text());
  };
  add("Iteration, mean of the steps", totals);
  add("Path of the rank: what computes, else communicates, else the GPU is idle", comparison.path);
  add("By class of kernel, and by operator of the prediction", comparison.classes);
  add("By stream", comparison.streams);
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
          {"iteration", table_of({comparison.iteration}).json()[0]},
          {"totals", table_of(comparison.totals).json()},
          {"critical_path", table_of(comparison.path).json()},
          {"classes", table_of(comparison.classes).json()},
          {"streams", table_of(comparison.streams).json()},
          {"notes", doubts_of(comparison)}};
}

}  // namespace mirfak
