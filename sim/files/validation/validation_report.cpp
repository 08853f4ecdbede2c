#include "validation/validation_report.hpp"

#include "base/csv.hpp"
#include "base/json_parts.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "validation/validation_tables.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// Returns a table after an empty line; "" for a table without rows.
std::string after_a_line(const Table& table) { return table.empty() ? "" : "\n" + table.text(); }

// Returns the table of runs that fit and runs that do not; "" if all runs fit and are predicted to fit.
std::string outcomes_text(const std::vector<ValidationTable>& tables, const std::string& tiers) {
  Table out("outcomes | >ran | >predicted to fit | >out of memory | >predicted not to fit | >right");
  const auto add = [&](const std::string& name, const SourceScore& of) {
    out.add({name, of.ran, of.ran - of.too_large, of.out_of_memory, of.out_of_memory - of.wrongly_fitting,
             in_percent(static_cast<double>(of.right_outcomes()) / of.outcomes())});
  };
  for (const ValidationTable& table : tables) {
    const SourceScore of_table = score(table.runs, table.name, tiers);
    if (of_table.too_large + of_table.out_of_memory > 0) add(table.name, of_table);
  }
  const SourceScore all = score(all_runs(tables), "", tiers);
  if (all.too_large + all.out_of_memory == 0) return {};
  if (tables.size() > 1) add("all tables", all);
  return "\n" + out.text();
}

std::string skipped_text(const std::vector<ValidatedRun>& runs, const std::string& tiers) {
  Table out("skipped rows | reason");
  for (const ValidatedRun& run : runs) {
    if (run.simulated() || !counts(run, tiers)) continue;
    out.add({(run.refusal ? run.refusal->where : run.run.where).text(), excerpt(run.skipped, 160)});
  }
  return after_a_line(out);
}

// Adds scores of powers and energies, if there are any.
void put_drawn(Json& out, const SourceScore& score) {
  for (std::size_t i = 0; i < kDrawnQuantities; ++i) {
    const DrawnScore& of = score.drawn[i];
    if (of.errors.count == 0) continue;
    Json& entry = out["drawn"][std::string(key_of(static_cast<DrawnQuantity>(i)))] = statistics_json(of.errors);
    if (of.mean_width <= 0) continue;
    entry["coverage"] = of.coverage;
    entry["mean_width"] = of.mean_width;
  }
}

void put_statistics(Json& out, const SourceScore& score) {
  out["n"] = score.errors.count;
  out["skipped"] = score.skipped;
  out["mape"] = score.errors.mape;
  out["median_ape"] = score.errors.median_ape;
  out["p90_ape"] = score.errors.p90_ape;
  out["mean_error"] = score.errors.mean_error;
  out["spearman"] = score.errors.spearman;
  out["left_out"] = {
      {"n", score.left_out.count}, {"mape", score.left_out.mape}, {"median_ape", score.left_out.median_ape}};
  out["too_large"] = score.too_large;
  if (score.mean_width > 0) {
    out["coverage"] = score.coverage;
    out["mean_width"] = score.mean_width;
  }
  out["ran"] = {{"n", score.ran}, {"predicted_to_fit", score.ran - score.too_large}};
  out["out_of_memory"] = {{"n", score.out_of_memory}, {"predicted_to_fit", score.wrongly_fitting}};
  if (score.memory_errors.count > 0) {
    out["memory"] = statistics_json(score.memory_errors);
  }
  put_drawn(out, score);
}

// Adds the powers and energies that the row states.
void add_drawn(Json& out, const ValidatedRun& run) {
  for (std::size_t i = 0; i < kDrawnQuantities; ++i) {
    const std::optional<RangedPair>& of = run.drawn[i];
    if (!of) continue;
    Json& entry = out["drawn"][std::string(key_of(static_cast<DrawnQuantity>(i)))] = {
        {"predicted", of->pair.predicted}, {"measured", of->pair.measured}, {"error", of->pair.error()}};
    if (!of->ranged()) continue;
    entry["low"] = of->low;
    entry["high"] = of->high;
  }
}

// Adds the memory that the framework allocated, if the row states it.
void add_allocated(Json& out, const ValidatedRun& run) {
  if (!run.run.allocated_bytes) return;
  out["allocated_bytes"] = run.allocated_bytes.predicted;
  out["allocated_bytes_measured"] = run.allocated_bytes.measured;
}

Json row_json(const std::string& table, const ValidatedRun& run) {
  Json out = {{"table", table},
              {"line", run.run.where.line},
              {"tier", run.run.tier},
              {"source", run.run.source},
              {"model", run.run.model},
              {"gpu", run.run.gpu},
              {"gpus", run.run.gpus.value_or(0)},
              {"predicted", run.seconds.predicted},
              {"measured", run.seconds.measured},
              {"error", run.seconds.error()},
              {"fits", run.fits},
              {"memory_peak_bytes", run.memory_peak_bytes}};
  if (run.left_out_s) out["left_out"] = *run.left_out_s;
  if (!run.run.chose.empty()) out["chose"] = run.run.chose;
  if (run.range) {
    out["low"] = run.range->low_s;
    out["high"] = run.range->high_s;
  }
  if (!run.assumed.empty()) out["assumed"] = run.assumed;
  add_allocated(out, run);
  add_drawn(out, run);
  Json& activities = out["activities"] = Json::object();
  for (std::size_t i = 0; i < kActivities; ++i) {
    if (run.activity_s[i] > 0) activities[std::string(key_of(static_cast<Activity>(i))) + "_s"] = run.activity_s[i];
  }
  return out;
}

// Returns the JSON of a run without a compared time: it ran out of memory, or its row states no time.
Json untimed_json(const std::string& table, const ValidatedRun& run) {
  Json out = {{"table", table},
              {"line", run.run.where.line},
              {"model", run.run.model},
              {"fits", run.fits},
              {"memory_peak_bytes", run.memory_peak_bytes}};
  add_allocated(out, run);
  add_drawn(out, run);
  return out;
}

Json skipped_json(const std::string& table, const ValidatedRun& run) {
  Json out = {{"table", table},
              {"line", run.run.where.line},
              {"tier", run.run.tier},
              {"model", run.run.model},
              {"reason", run.skipped}};
  if (run.refusal && !run.refusal->column.empty()) {
    out["at"] = run.refusal->where.text();
    out["column"] = run.refusal->column;
    out["word"] = run.refusal->word;
    if (!run.refusal->nearest.empty()) out["nearest"] = run.refusal->nearest;
  }
  return out;
}

// Returns means and sums over groups of layouts.
Json choices_json(const LayoutChoices& all) {
  return {{"groups", all.groups},
          {"timed", all.timed},
          {"spearman", json_or_null(all.correlation)},
          {"regret", json_or_null(all.regret)},
          {"regret_of_three", json_or_null(all.regret_of_three)},
          {"choices", all.choices},
          {"choices_ran", all.choices_ran},
          {"regret_of_choice", json_or_null(all.regret_of_choice)},
          {"failed", all.failed},
          {"failed_predicted_to_fit", all.failed_fitting},
          {"failed_not_held_back", all.failed_admitted},
          {"ran_predicted_not_to_fit", all.ran_too_large},
          {"ran_held_back", all.ran_held_back}};
}

}  // namespace

std::string ranges_text(const LeftOutRanges& left_out) {
  return left_out_table("ranges fitted to the other tables", left_out, ReportForm::terminal).text();
}

std::string memory_ranges_text(const LeftOutRanges& left_out) {
  return "\n" + left_out_table("ranges of memory fitted to the other tables", left_out, ReportForm::terminal).text();
}

std::string power_ranges_text(const LeftOutRanges& left_out) {
  return "\n" + left_out_table("ranges of power fitted to the other tables", left_out, ReportForm::terminal).text();
}

std::string own_runs_text(const OwnRunsScore& score) {
  return fmt::format(
      "\n{} own runs of a machine under a framework: the mean error of its others falls from {} to {}, {} of them lie "
      "in "
      "ranges {} wide (means of {} tables, each judged by the others)\n",
      score.own, format_percent(score.error_before), format_percent(score.error_after), format_percent(score.coverage),
      format_percent(score.mean_width), score.tables);
}

bool counts(const ValidatedRun& run, const std::string& tiers) {
  return run.run.tier.empty() || tiers.find(run.run.tier) != std::string::npos;
}

std::vector<ValidatedRun> all_runs(const std::vector<ValidationTable>& tables) {
  std::vector<ValidatedRun> runs;
  for (const ValidationTable& table : tables) runs.insert(runs.end(), table.runs.begin(), table.runs.end());
  return runs;
}

std::string what_ran(const MeasuredRun& run) {
  return fmt::format("{} on {} {}{}{} {}", excerpt(run.model, 32), run.gpus.value_or(0), excerpt(run.gpu, 20),
                     run.sizes.empty() ? "" : " ", run.sizes, excerpt(run.precision, 12));
}

std::string validation_text(const std::vector<ValidationTable>& tables, const std::string& tiers, int worst) {
  return scores_table(tables, tiers, ReportForm::terminal).text() +
         after_a_line(memory_table(tables, tiers, ReportForm::terminal)) +
         after_a_line(drawn_table(tables, tiers, ReportForm::terminal)) + outcomes_text(tables, tiers) +
         after_a_line(choices_table(tables, tiers, ReportForm::terminal)) +
         after_a_line(worst_table(tables, tiers, static_cast<std::size_t>(worst), ReportForm::terminal)) +
         skipped_text(all_runs(tables), tiers);
}

nlohmann::ordered_json validation_json(const std::vector<ValidationTable>& tables, const std::string& tiers) {
  Json out = Json::object();
  put_statistics(out, score(all_runs(tables), "all", tiers));
  Json of_tables = Json::array();
  Json rows = Json::array();
  Json skipped = Json::array();
  Json failed = Json::array();
  Json untimed = Json::array();
  for (const ValidationTable& table : tables) {
    Json entry = {{"table", table.name}};
    put_statistics(entry, score(table.runs, table.name, tiers));
    of_tables.push_back(std::move(entry));
    for (const ValidatedRun& run : table.runs) {
      if (!counts(run, tiers)) continue;
      if (run.scored()) {
        rows.push_back(row_json(table.name, run));
      } else if (run.simulated()) {
        (run.ran() ? untimed : failed).push_back(untimed_json(table.name, run));
      } else {
        skipped.push_back(skipped_json(table.name, run));
      }
    }
  }
  out["tables"] = std::move(of_tables);
  if (const std::vector<LayoutChoice> groups = choices_of(tables, tiers); !groups.empty()) {
    out["choices"] = choices_json(all_choices(groups));
    out["groups"] = choices_table(tables, tiers, ReportForm::terminal).json();
  }
  out["rows"] = std::move(rows);
  out["skipped_rows"] = std::move(skipped);
  out["untimed_rows"] = std::move(untimed);
  out["out_of_memory_rows"] = std::move(failed);
  return out;
}

std::string validation_csv(const std::vector<ValidationTable>& tables) {
  std::string out =
      "table,line,tier,model,gpu,gpus,predicted_s,measured_s,error,fits,memory_peak_bytes,skipped,outcome\n";
  for (const ValidationTable& table : tables) {
    for (const ValidatedRun& run : table.runs) {
      const MeasuredRun& row = run.run;
      out += fmt::format("{},{},{},{},{},{},", csv_field(table.name), row.where.line, csv_field(row.tier),
                         csv_field(row.model), csv_field(row.gpu), row.gpus.value_or(0));
      if (!run.simulated()) {
        out += fmt::format(",,,,,{},\n", csv_field(run.skipped));
        continue;
      }
      out += run.scored() ? fmt::format("{:.6g},{:.6g},{:.5f},", run.seconds.predicted, run.seconds.measured,
                                        run.seconds.error())
                          : std::string(",,,");
      out += fmt::format("{},{:.0f},,{}\n", run.fits, run.memory_peak_bytes, run.ran() ? "ran" : "out of memory");
    }
  }
  return out;
}

}  // namespace mirfak
