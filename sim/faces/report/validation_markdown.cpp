#include "report/validation_markdown.hpp"

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/scatter_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

namespace mirfak {

namespace {

constexpr std::size_t kWorst = 10;

struct Row {
  const ValidationTable* table;
  const ValidatedRun* run;
};

std::vector<Row> rows_of(const std::vector<ValidationTable>& tables, const std::string& tiers) {
  std::vector<Row> rows;
  for (const ValidationTable& table : tables) {
    for (const ValidatedRun& run : table.runs) {
      if (counts(run, tiers)) rows.push_back({&table, &run});
    }
  }
  return rows;
}

std::string score_cells(const SourceScore& score) {
  const ErrorStatistics& e = score.errors;
  if (e.count == 0) return fmt::format("| 0 | {} | | | | | | |", score.skipped);
  const ErrorStatistics& left = score.left_out;
  const std::string left_out =
      left.count > 0 ? fmt::format("{:.1f} / {:.1f} %", 100 * left.mape, 100 * left.median_ape) : "-";
  return fmt::format("| {} | {} | {:.1f} % | {:.1f} % | {} | {:.1f} % | {:+.1f} % | {:.3f} |", e.count, score.skipped,
                     100 * e.mape, 100 * e.median_ape, left_out, 100 * e.p90_ape, 100 * e.mean_error, e.spearman);
}

std::string scores(const std::vector<ValidationTable>& tables, const std::string& tiers) {
  std::string out =
      "| table | rows | skipped | MAPE | median | left out | p90 | mean error | Spearman |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  LeftOutMeans left_out;
  double mape = 0;
  double median = 0;
  int scored = 0;
  for (const ValidationTable& table : tables) {
    const SourceScore of_table = score(table.runs, table.name, tiers);
    if (of_table.errors.count + of_table.skipped == 0) continue;
    out += fmt::format("| {} {}\n", table.name, score_cells(of_table));
    if (of_table.errors.count == 0) continue;
    mape += of_table.errors.mape;
    median += of_table.errors.median_ape;
    left_out.add(of_table);
    ++scored;
  }
  out += fmt::format("| **all rows** {}\n", score_cells(score(all_runs(tables), "", tiers)));
  if (scored == 0) return out;
  return out + fmt::format("| **mean of {} tables** | | | {:.1f} % | {:.1f} % | {:.1f} / {:.1f} % | | | |\n", scored,
                           100 * mape / scored, 100 * median / scored, 100 * left_out.mape(), 100 * left_out.median());
}

std::string memory(const std::vector<ValidationTable>& tables) {
  std::string out = "| table | rows | MAPE | median | p90 | mean error |\n|---|---|---|---|---|---|\n";
  for (const ValidationTable& table : tables) {
    const ErrorStatistics e = score(table.runs, table.name, "AB").memory_errors;
    if (e.count == 0) continue;
    out += fmt::format("| {} | {} | {:.1f} % | {:.1f} % | {:.1f} % | {:+.1f} % |\n", table.name, e.count, 100 * e.mape,
                       100 * e.median_ape, 100 * e.p90_ape, 100 * e.mean_error);
  }
  return out;
}

// Returns the numbers of runs that are rightly predicted to fit or not to fit in memory.
std::string outcomes(const std::vector<ValidationTable>& tables) {
  const SourceScore all = score(all_runs(tables), "", "AB");
  return fmt::format(
      "{} of {} rows that ran are predicted not to fit; {} of {} that ran out of memory are predicted to fit: {:.1f} % "
      "are right.\n",
      all.too_large, all.ran, all.wrongly_fitting, all.out_of_memory,
      all.outcomes() > 0 ? 100.0 * all.right_outcomes() / all.outcomes() : 100.0);
}

std::string worst(const std::vector<ValidationTable>& tables, const Findings& findings) {
  std::vector<Row> rows = rows_of(tables, "A");
  std::erase_if(rows, [](const Row& row) { return !row.run->scored(); });
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::abs(a.run->seconds.error()) > std::abs(b.run->seconds.error());
  });
  if (rows.size() > kWorst) rows.resize(kWorst);
  std::string out = "| row | what ran | predicted | measured | error | reason found |\n|---|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    const PredictedPair& seconds = row.run->seconds;
    const std::string reason = findings.reason_of(row.table->name, row.run->run.where);
    out += fmt::format("| {}:{} | {} | {} | {} | {:+.1f} % | {} |\n", row.table->name, row.run->run.where.line,
                       what_ran(row.run->run), format_seconds(seconds.predicted), format_seconds(seconds.measured),
                       100 * seconds.error(), reason.empty() ? "not found yet" : reason);
  }
  return out;
}

std::string skipped(const std::vector<ValidationTable>& tables) {
  std::map<std::pair<std::string, std::string>, int> reasons;  // number of rows by table and reason
  for (const Row& row : rows_of(tables, "AB")) {
    if (!row.run->simulated()) ++reasons[{row.table->name, excerpt(row.run->skipped, 120)}];
  }
  if (reasons.empty()) return "None.\n";
  std::string out = "| table | rows | reason |\n|---|---|---|\n";
  for (const auto& [what, count] : reasons) out += fmt::format("| {} | {} | {} |\n", what.first, count, what.second);
  return out;
}

std::vector<ValidatedRun> complete_runs(const std::vector<ValidationTable>& tables) {
  std::vector<ValidatedRun> runs = all_runs(tables);
  std::erase_if(runs, [](const ValidatedRun& run) { return !counts(run, "A"); });
  return runs;
}

// Returns the section on ranges; "" if there are too few tables to leave one out.
std::string ranges(const std::vector<ValidationTable>& tables, const std::string& plot_name) {
  constexpr double kLevel = 0.8;
  if (reliability_of_tables(tables).empty()) return {};
  const LeftOutRanges judged = judge_range_widths(complete_runs(tables), kLevel);
  std::string out = fmt::format(
      "\n## Ranges\n\nHow many measurements of tier A lie in the range of {:.0f} % around their prediction, each table "
      "judged by widths that the others chose:\n\n| table | rows | in range | width |\n|---|---|---|---|\n",
      100 * kLevel);
  for (const LeftOutTable& table : judged.tables) {
    out += fmt::format("| {} | {} | {:.1f} % | {:.1f} % |\n", std::filesystem::path(table.name).stem().string(),
                       table.runs, 100 * table.coverage, 100 * table.mean_width);
  }
  return out + fmt::format(
                   "| **mean of {} tables** | | {:.1f} % | {:.1f} % |\n\n![Reliability of ranges]({})\n\n"
                   "What ranges promise against what they keep, means over tables left out; dashed: honest.\n",
                   judged.known.tables, 100 * judged.known.coverage, 100 * judged.known.mean_width, plot_name);
}

}  // namespace

std::vector<Reliability> reliability_of_tables(const std::vector<ValidationTable>& tables) {
  return reliability_of_ranges(complete_runs(tables));
}

std::string validation_markdown(const std::vector<ValidationTable>& tables, const Findings& findings,
                                const ReportPlots& plots) {
  std::string out =
      "# Predictions against published measurements\n\n"
      "Made by `mirfak validate validate/published/*.csv --report validate/published/REPORT.md`. Errors are predicted "
      "/ "
      "measured - 1, positive where the prediction is slow. What the tables are, and the tiers of their rows, says "
      "[README.md](README.md).\n\n## Rows with every field stated (tier A)\n\n";
  out += scores(tables, "A");
  out += "\n## With rows where something is inferred (tiers A and B)\n\n" + scores(tables, "AB");
  out += fmt::format(
      "\n## Predicted against measured\n\n![Predicted against measured seconds of an iteration]({})\n\nDashed: 10 % on "
      "either side.\n",
      plots.scatter);
  out += ranges(tables, plots.reliability);
  out += "\n## Peak memory that the framework allocated\n\n" + memory(tables) + "\n" + outcomes(tables);
  out += "\n## The ten worst rows of tier A\n\n" + worst(tables, findings);
  out += "\n## Rows that are not simulated\n\n" + skipped(tables);
  if (!findings.tried.empty()) out += "\n## What was tried\n\n" + findings.tried + "\n";
  return out;
}

std::string validation_plot(const std::vector<ValidationTable>& tables) {
  std::vector<ScatterSeries> series;
  for (const ValidationTable& table : tables) {
    ScatterSeries set{table.name, {}};
    for (const ValidatedRun& run : table.runs) {
      if (run.scored() && counts(run, "AB")) set.points.emplace_back(run.seconds.measured, run.seconds.predicted);
    }
    if (!set.points.empty()) series.push_back(std::move(set));
  }
  return scatter_svg(series);
}

}  // namespace mirfak
