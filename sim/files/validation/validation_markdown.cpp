#include "validation/validation_markdown.hpp"

#include "base/text.hpp"
#include "base/units.hpp"
#include "validation/validation_plots.hpp"
#include "validation/validation_tables.hpp"

#include <fmt/format.h>

#include <map>

namespace mirfak {

namespace {

constexpr std::size_t kWorst = 10;

// Returns the numbers of runs that are rightly predicted to fit or not to fit in memory.
std::string outcomes(const std::vector<ValidationTable>& tables) {
  const SourceScore all = score(all_runs(tables), "", "AB");
  return fmt::format(
      "{} of {} rows that ran are predicted not to fit; {} of {} that ran out of memory are predicted to fit: {:.1f} % "
      "are right.\n",
      all.too_large, all.ran, all.wrongly_fitting, all.out_of_memory,
      all.outcomes() > 0 ? 100.0 * all.right_outcomes() / all.outcomes() : 100.0);
}

// Returns the section on groups of layouts; "" if there are none.
std::string choices(std::vector<ValidationTable> tables, const std::vector<ValidationTable>& first_contacts) {
  tables.insert(tables.end(), first_contacts.begin(), first_contacts.end());
  const Table table = choices_table(tables, "AB", ReportForm::file);
  if (table.empty()) return {};
  return "\n## Choices among layouts\n\nGroups of measured layouts of one model on one cluster. Regret: how much "
         "slower than the best measured layout is the one that is predicted to be fastest of those that ran; "
         "\"of three\": the best measured of the three that are predicted to be fastest. The choice is the fastest "
         "of all candidates that a search does not hold back for memory, runs that ran out of memory among them.\n\n" +
         table.markdown();
}

std::string skipped(const std::vector<ValidationTable>& tables) {
  std::map<std::pair<std::string, std::string>, int> reasons;  // number of rows by table and reason
  for (const ValidationTable& table : tables) {
    for (const ValidatedRun& run : table.runs) {
      if (counts(run, "AB") && !run.simulated()) ++reasons[{table.name, excerpt(run.skipped, 120)}];
    }
  }
  if (reasons.empty()) return "None.\n";
  Table out("table | >rows | reason");
  for (const auto& [what, count] : reasons) out.add({what.first, count, what.second});
  return out.markdown();
}

std::vector<ValidatedRun> runs_of(const std::vector<ValidationTable>& tables, const std::string& tiers) {
  std::vector<ValidatedRun> runs = all_runs(tables);
  std::erase_if(runs, [&](const ValidatedRun& run) { return !counts(run, tiers); });
  return runs;
}

std::vector<ValidatedRun> complete_runs(const std::vector<ValidationTable>& tables) { return runs_of(tables, "A"); }

// Returns the part of the section on ranges about how familiar runs are. First contacts count with their tiers A and B.
std::string by_familiarity(const std::vector<ValidationTable>& tables,
                           const std::vector<ValidationTable>& first_contacts, double level) {
  std::vector<ValidatedRun> runs = complete_runs(tables);
  for (ValidatedRun& run : runs_of(first_contacts, "AB")) runs.push_back(std::move(run));
  const auto measured = std::make_shared<const MeasuredSoftware>(measured_software(runs_of(tables, "AB")));
  return "\nThe same by how familiar a run's software is, with the first contacts below; a table counts among the "
         "sources of its own software:\n\n" +
         familiarity_table(judge_range_widths(runs, level, measured)).markdown();
}

// Returns the section on ranges; "" if there are too few tables to leave one out.
std::string ranges(const std::vector<ValidationTable>& tables, const std::vector<ValidationTable>& first_contacts,
                   const std::string& plot_name) {
  constexpr double kLevel = 0.8;
  if (reliability_of_tables(tables).empty()) return {};
  const LeftOutRanges judged = judge_range_widths(complete_runs(tables), kLevel);
  return fmt::format(
      "\n## Ranges\n\nHow many measurements of tier A lie in the range of {:.0f} % around their prediction, each table "
      "judged by widths that the others chose:\n\n{}{}\n![Reliability of ranges]({})\n\n"
      "What ranges promise against what they keep, means over tables left out; dashed: honest.\n",
      100 * kLevel, left_out_table("table", judged, ReportForm::file).markdown(),
      by_familiarity(tables, first_contacts, kLevel), plot_name);
}

// Returns the section on tables that were predicted before anyone had seen them; "" if there are none.
std::string first_contact_section(const Findings& findings, const std::vector<ValidationTable>& today) {
  if (findings.first_contacts.empty()) return {};
  return "\n## First contact\n\nTables with the errors that their predictions had before anyone had seen what was "
         "measured "
         "(tiers A and B), which never change, and with today's errors (of the tables that `--first-contact` names), "
         "after some of these rows have shaped what mirfak knows. \"In range\": in the range of 80 % around the "
         "prediction.\n\n" +
         first_contact_table(findings, today).markdown();
}

}  // namespace

std::vector<Reliability> reliability_of_tables(const std::vector<ValidationTable>& tables) {
  return reliability_of_ranges(complete_runs(tables));
}

std::string validation_markdown(const std::vector<ValidationTable>& tables, const Findings& findings,
                                const ReportPlots& plots, const std::vector<ValidationTable>& first_contacts) {
  std::string out =
      "# Predictions against published measurements\n\n"
      "Made by `mirfak validate validate/published/*.csv --report validate/published/REPORT.md`. Errors are predicted "
      "/ "
      "measured - 1, positive where the prediction is slow. What the tables are, and the tiers of their rows, says "
      "[README.md](README.md).\n\n## Rows with every field stated (tier A)\n\n";
  out += scores_table(tables, "A", ReportForm::file).markdown();
  out += "\n## With rows where something is inferred (tiers A and B)\n\n" +
         scores_table(tables, "AB", ReportForm::file).markdown();
  out += fmt::format(
      "\n## Predicted against measured\n\n![Predicted against measured seconds of an iteration]({})\n\nDashed: 10 % on "
      "either side.\n",
      plots.scatter);
  out += ranges(tables, first_contacts, plots.reliability);
  out += first_contact_section(findings, first_contacts);
  out += choices(tables, first_contacts);
  out += "\n## Peak memory that the framework allocated\n\n" + memory_table(tables, "AB", ReportForm::file).markdown() +
         "\n" + outcomes(tables);
  if (const Table drawn = drawn_table(tables, "AB", ReportForm::file); !drawn.empty()) {
    out += "\n## Power and energy\n\n" + drawn.markdown();
  }
  out +=
      "\n## The ten worst rows of tier A\n\n" + worst_table(tables, "A", kWorst, ReportForm::file, findings).markdown();
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
