#include "trace/trace_comparison_report.hpp"

#include "base/csv.hpp"
#include "base/json_parts.hpp"
#include "base/section.hpp"
#include "base/units.hpp"
#include "trace/trace_hdf5.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kNotableClockError = 0.1;  // share of the median communication: larger errors blur when ranks met

Cell error_cell(const ComparedTime& time) {
  if (time.measured_s <= 0) return words("-");
  const double error = time.predicted_s / time.measured_s - 1;
  return {format_signed_percent(error), error};
}

// Returns a difference with its sign.
std::string signed_seconds(double seconds) {
  return (seconds < 0 ? "-" : "+") + format_seconds(seconds < 0 ? -seconds : seconds);
}

Table times_table(const std::vector<ComparedTime>& times) {
  Table table(":name | >tasks:tasks | >predicted:predicted | >measured:measured | >difference | >error:error");
  for (const ComparedTime& time : times) {
    table.add({time.name, Cell(time.tasks > 0 ? std::to_string(time.tasks) : "", time.tasks),
               in_seconds(time.predicted_s), in_seconds(time.measured_s), signed_seconds(time.difference_s()),
               error_cell(time)});
  }
  return table;
}

std::string ranks_text(const std::string& title, const std::string& what, const std::vector<ComparedRank>& ranks) {
  Table table(fmt::format("{} | | >predicted | >measured | >difference | >error", what));
  for (const ComparedRank& rank : ranks) {
    std::string number = std::to_string(rank.number);
    const auto add = [&](const char* name, const ComparedTime& time) {
      table.add({number, name, in_seconds(time.predicted_s), in_seconds(time.measured_s),
                 signed_seconds(time.difference_s()), error_cell(time)});
      number.clear();
    };
    add("kernels", rank.kernels);
    add("communication", rank.communication);
    add("compute waits", rank.waiting);
  }
  return title + "\n" + table.text() + "\n";
}

Json ranks_json(const std::vector<ComparedRank>& ranks, const char* key) {
  Json out = Json::array();
  for (const ComparedRank& rank : ranks) {
    Json row = {{key, rank.number}};
    const auto add = [&](const char* name, const ComparedTime& time) {
      row[std::string(name) + "_predicted_s"] = time.predicted_s;
      row[std::string(name) + "_measured_s"] = time.measured_s;
    };
    add("kernels", rank.kernels);
    add("communication", rank.communication);
    add("waiting", rank.waiting);
    out.push_back(std::move(row));
  }
  return out;
}

Json path_json(const CriticalPath& path, double ComparedTime::*seconds) {
  Json kinds = Json::object();
  for (const ComparedTime& time : path.kinds) kinds[time.name] = time.*seconds;
  return {{"tasks", path.tasks}, {"between_tasks_s", path.waiting_s}, {"kinds_s", std::move(kinds)}};
}

bool is_within(const MeasuredRange& range, double seconds) {
  return seconds >= range.shortest_s && seconds <= range.longest_s;
}

// Returns "predicted 1.323 s, measured 1.287 s (1.078 s .. 1.444 s over 9 iterations): error +2.8 %, within the
// measured range".
std::string iteration_text(const TraceComparison& comparison) {
  const PredictedPair& time = comparison.iteration;
  const MeasuredRange& range = comparison.range;
  std::string out =
      fmt::format("  predicted {}, measured {}", format_seconds(time.predicted), format_seconds(time.measured));
  if (range.iterations == 1) out += " (1 iteration)";
  if (range.iterations > 1) {
    out += fmt::format(" ({} .. {} over {} iterations)", format_seconds(range.shortest_s),
                       format_seconds(range.longest_s), range.iterations);
  }
  out += fmt::format(": error {}", format_signed_percent(time.error()));
  if (range.iterations > 1)
    out += is_within(range, time.predicted) ? ", within the measured range" : ", outside of the measured range";
  out += "\n";
  if (const auto& energy = comparison.energy) {
    out += fmt::format("  energy: predicted {:.3g} J, measured {:.3g} J, error {}; mean power {:.0f} and {:.0f} W\n",
                       energy->predicted, energy->measured, format_signed_percent(energy->error()),
                       energy->predicted / time.predicted, energy->measured / time.measured);
  }
  return out;
}

// Returns the reasons why a measurement is less certain than its digits suggest.
std::string doubts_text(const TraceComparison& comparison) {
  const MeasuredRange& range = comparison.range;
  std::string out;
  if (range.clock_error_s > kNotableClockError * comparison.communication_s && comparison.communication_s > 0) {
    out += fmt::format("  clocks of ranks may differ by {}, {:.0f} % of the median communication\n",
                       format_seconds(range.clock_error_s), 100 * range.clock_error_s / comparison.communication_s);
  }
  if (range.stolen_share.value_or(0) > kNotableSteal) {
    out += fmt::format("  a hypervisor took {:.1f} % of the processors' time while it was measured\n",
                       100 * *range.stolen_share);
  }
  if (range.mark_s > 0) {
    out += fmt::format("  taking the time of a task took {}, which is not in the measured times\n",
                       format_seconds(range.mark_s));
  }
  return out;
}

Json pair_json(const PredictedPair& pair) {
  return {{"predicted", pair.predicted}, {"measured", pair.measured}, {"error", pair.error()}};
}

Json measurement_json(const TraceComparison& comparison) {
  const MeasuredRange& range = comparison.range;
  Json out = {
      {"iterations", range.iterations},       {"shortest_s", range.shortest_s},
      {"longest_s", range.longest_s},         {"within_range", is_within(range, comparison.iteration.predicted)},
      {"clock_error_s", range.clock_error_s}, {"mark_s", range.mark_s}};
  out["stolen_share"] = json_or_null(range.stolen_share);
  return out;
}

}  // namespace

std::string comparison_text(const TraceComparison& comparison, int worst) {
  std::string out =
      fmt::format("{} against {}: {} tasks\n\n", comparison.predicted, comparison.measured, comparison.tasks);
  out += "Iteration\n" + iteration_text(comparison);
  out += fmt::format("  kernel by kernel: median error {:.1f} %, 90th percentile {:.1f} %, of {}\n",
                     100 * comparison.kernels.median_ape, 100 * comparison.kernels.p90_ape, comparison.kernels.count);
  out += doubts_text(comparison) + "\n";
  const auto add = [&](const std::string& title, const std::vector<ComparedTime>& times, std::size_t most) {
    out += fmt::format("{}\n{}\n", title, times_table(times).text(most));
  };
  add(fmt::format("Why: critical paths of {} and {} tasks, which take the whole iteration",
                  comparison.predicted_path.tasks, comparison.measured_path.tasks),
      comparison.causes, comparison.causes.size());
  add("By kind, over all ranks", comparison.kinds, comparison.kinds.size());
  out += ranks_text("By stage, mean of its ranks", "stage", comparison.stages);
  out += ranks_text("By rank", "rank", comparison.ranks);
  add("Operators that differ most, over all ranks", comparison.names, static_cast<std::size_t>(worst));
  out.pop_back();
  return out;
}

Json comparison_json(const TraceComparison& comparison) {
  return {{"predicted", comparison.predicted},
          {"measured", comparison.measured},
          {"tasks", comparison.tasks},
          {"iteration", pair_json(comparison.iteration)},
          {"energy", comparison.energy ? pair_json(*comparison.energy) : Json(nullptr)},
          {"measurement", measurement_json(comparison)},
          {"kernels", statistics_json(comparison.kernels)},
          {"operators", statistics_json(comparison.operators)},
          {"causes", times_table(comparison.causes).json()},
          {"kinds", times_table(comparison.kinds).json()},
          {"names", times_table(comparison.names).json()},
          {"stages", ranks_json(comparison.stages, "stage")},
          {"ranks", ranks_json(comparison.ranks, "rank")},
          {"critical_path",
           {{"predicted", path_json(comparison.predicted_path, &ComparedTime::predicted_s)},
            {"measured", path_json(comparison.measured_path, &ComparedTime::measured_s)}}}};
}

std::string comparison_csv(const TraceFile& predicted, const TraceFile& measured) {
  std::string out =
      "task,rank,stream,kind,name,stage,chunk,microbatch,predicted_start_s,predicted_end_s,measured_start_s,"
      "measured_end_s,predicted_s,measured_s,error\n";
  for (std::size_t task = 0; task < predicted.size(); ++task) {
    const double took = measured.seconds(task);
    out += fmt::format("{},{},{},{},{},{},{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{}\n", task,
                       predicted.rank[task], predicted.stream_of(task), predicted.kind_of(task),
                       csv_field(predicted.name_of(task)), predicted.stage[task], predicted.chunk[task],
                       predicted.microbatch[task], predicted.start_s[task], predicted.end_s[task],
                       measured.start_s[task], measured.end_s[task], predicted.seconds(task), took,
                       took > 0 ? fmt::format("{:.6g}", predicted.seconds(task) / took - 1) : std::string());
  }
  return out;
}

}  // namespace mirfak
