#include "validation/validation_tables.hpp"

#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace mirfak {

namespace {

std::string mean_and_median(double mean, double median) {
  return fmt::format("{:.1f} / {}", 100 * mean, format_percent(median));
}

void add_score(Table& out, const std::string& name, const SourceScore& score, const char* none) {
  const ErrorStatistics& e = score.errors;
  if (e.count == 0) {
    out.add({name, 0, score.skipped, none, none, none, none, none, none, "", none, none});
    return;
  }
  const bool ranged = score.mean_width > 0;
  out.add({name, e.count, score.skipped, in_percent(e.mape), in_percent(e.median_ape),
           score.left_out.count > 0 ? mean_and_median(score.left_out.mape, score.left_out.median_ape) : "-",
           in_percent(e.p90_ape), format_signed_percent(e.mean_error), fmt::format("{:.3f}", e.spearman),
           score.too_large, ranged ? format_percent(score.coverage) : "-",
           ranged ? format_percent(score.mean_width) : "-"});
}

// Returns the name of a row of sums; a file shows it in bold.
std::string sum_name(const std::string& name, ReportForm form) {
  return form == ReportForm::file ? "**" + name + "**" : name;
}

}  // namespace

Table scores_table(const std::vector<ValidationTable>& tables, const std::string& tiers, ReportForm form) {
  const bool file = form == ReportForm::file;
  const char* const none = file ? "" : "-";
  Table out(
      fmt::format("table | >rows | >skipped | >MAPE | >median | >left out | >p90 | >{} | >Spearman | >too large | >in "
                  "range | >width",
                  file ? "mean error" : "mean"));
  out.show("too large", !file);
  out.show("in range", !file);
  out.show("width", !file);
  double mape = 0;
  double median = 0;
  LeftOutMeans left_out;
  double coverage = 0;
  double width = 0;
  int scored = 0;
  for (const ValidationTable& table : tables) {
    const SourceScore of_table = score(table.runs, table.name, tiers);
    if (!file || of_table.errors.count + of_table.skipped > 0) add_score(out, table.name, of_table, none);
    if (of_table.errors.count == 0) continue;
    mape += of_table.errors.mape;
    median += of_table.errors.median_ape;
    coverage += of_table.coverage;
    width += of_table.mean_width;
    left_out.add(of_table);
    ++scored;
  }
  if (file || (tables.size() > 1 && scored > 0)) {
    add_score(out, sum_name("all rows", form), score(all_runs(tables), "", tiers), none);
  }
  if (scored == 0 || (!file && tables.size() < 2)) return out;
  out.add({sum_name(file ? fmt::format("mean of {} tables", scored) : "mean of tables", form),
           file ? Cell("") : Cell(scored), "", in_percent(mape / scored), in_percent(median / scored),
           mean_and_median(left_out.mape(), left_out.median()), "", "", "", "",
           width > 0 ? format_percent(coverage / scored) : "-", width > 0 ? format_percent(width / scored) : "-"});
  return out;
}

std::vector<LayoutChoice> choices_of(const std::vector<ValidationTable>& tables, const std::string& tiers) {
  std::vector<LayoutChoice> out;
  for (const ValidationTable& table : tables) {
    for (LayoutChoice& group : layout_choices(table.name, table.runs, tiers)) out.push_back(std::move(group));
  }
  return out;
}

Table choices_table(const std::vector<ValidationTable>& tables, const std::string& tiers, ReportForm form) {
  Table out(
      "layouts of:group | -:table | >timed:timed | >Spearman:spearman | >regret:regret | >of three:regret_of_three"
      " | choice:choice_ran | >its regret:regret_of_choice | >failed:failed | >predicted to fit:failed_predicted_to_fit"
      " | >not held back:failed_not_held_back | >ran, predicted not to fit:ran_predicted_not_to_fit"
      " | >held back:ran_held_back");
  const std::vector<LayoutChoice> groups = choices_of(tables, tiers);
  if (groups.empty()) return out;
  const auto choice = [](const std::optional<bool>& ran) {
    if (!ran) return Cell("all held back", std::monostate());
    return Cell(*ran ? "ran" : "out of memory", *ran);
  };
  for (const LayoutChoice& of : groups) {
    out.add({of.group, of.table, of.timed, as_number(of.correlation), in_percent(of.regret),
             in_percent(of.regret_of_three), choice(of.choice_ran), in_percent(of.regret_of_choice), of.failed,
             of.failed_fitting, of.failed_admitted, of.ran_too_large, of.ran_held_back});
  }
  const LayoutChoices all = all_choices(groups);
  out.add({sum_name(fmt::format("all {} groups", all.groups), form), "", all.timed, as_number(all.correlation),
           in_percent(all.regret), in_percent(all.regret_of_three),
           words(fmt::format("{} of {} ran", all.choices_ran, all.choices)), in_percent(all.regret_of_choice),
           all.failed, all.failed_fitting, all.failed_admitted, all.ran_too_large, all.ran_held_back},
          Readers::people);
  return out;
}

Table memory_table(const std::vector<ValidationTable>& tables, const std::string& tiers, ReportForm form) {
  const bool file = form == ReportForm::file;
  Table out(fmt::format("{} | >{} | >MAPE | >median | >p90 | >{}", file ? "table" : "memory",
                        file ? "rows" : "allocated", file ? "mean error" : "mean"));
  for (const ValidationTable& table : tables) {
    const ErrorStatistics e = score(table.runs, table.name, tiers).memory_errors;
    if (e.count == 0) continue;
    out.add({table.name, e.count, in_percent(e.mape), in_percent(e.median_ape), in_percent(e.p90_ape),
             format_signed_percent(e.mean_error)});
  }
  return out;
}

Table drawn_table(const std::vector<ValidationTable>& tables, const std::string& tiers, ReportForm form) {
  const bool file = form == ReportForm::file;
  Table out(fmt::format("{} | of | >rows | >MAPE | >median | >{} | >in range | >width",
                        file ? "table" : "power and energy", file ? "mean error" : "mean"));
  const auto add = [&](const std::string& name, const SourceScore& of, std::size_t quantity) {
    const DrawnScore& drawn = of.drawn[quantity];
    const ErrorStatistics& e = drawn.errors;
    if (e.count == 0) return 0;
    const bool ranged = drawn.mean_width > 0;
    out.add({name, std::string(name_of(static_cast<DrawnQuantity>(quantity))), e.count, in_percent(e.mape),
             in_percent(e.median_ape), format_signed_percent(e.mean_error),
             ranged ? in_percent(drawn.coverage) : Cell("-"), ranged ? in_percent(drawn.mean_width) : Cell("-")});
    return 1;
  };
  for (std::size_t quantity = 0; quantity < kDrawnQuantities; ++quantity) {
    int stated = 0;
    for (const ValidationTable& table : tables) {
      stated += add(table.name, score(table.runs, table.name, tiers), quantity);
    }
    if (stated > 1) add("all tables", score(all_runs(tables), "", tiers), quantity);
  }
  return out;
}

Table worst_table(const std::vector<ValidationTable>& tables, const std::string& tiers, std::size_t most,
                  ReportForm form, const Findings& findings) {
  const bool file = form == ReportForm::file;
  std::vector<std::pair<const ValidationTable*, const ValidatedRun*>> scored;
  for (const ValidationTable& table : tables) {
    for (const ValidatedRun& run : table.runs) {
      if (run.scored() && counts(run, tiers)) scored.emplace_back(&table, &run);
    }
  }
  std::stable_sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) {
    return std::abs(a.second->seconds.error()) > std::abs(b.second->seconds.error());
  });
  if (scored.size() > most) scored.resize(most);
  Table out(fmt::format("{} | what ran | >predicted | >measured | >error | {}", file ? "row" : "worst rows",
                        file ? "reason found" : ""));
  out.show("what ran", file);
  for (const auto& [table, run] : scored) {
    const Location& where = run->run.where;
    const std::string reason = findings.reason_of(table->name, where);
    out.add({file ? fmt::format("{}:{}", table->name, where.line) : where.text(), what_ran(run->run),
             in_seconds(run->seconds.predicted), in_seconds(run->seconds.measured),
             format_signed_percent(run->seconds.error()),
             !file            ? what_ran(run->run)
             : reason.empty() ? "not found yet"
                              : reason});
  }
  return out;
}

Table first_contact_table(const Findings& findings, const std::vector<ValidationTable>& today) {
  Table out(
      "table | predicted by | >rows | >MAPE | >median | >mean error | >in range"
      " | >today | >MAPE | >median | >mean error | >in range");
  for (const Findings::FirstContact& first : findings.first_contacts) {
    std::vector<Cell> cells{first.table,
                            first.by,
                            first.rows,
                            in_percent(first.mape),
                            in_percent(first.median_ape),
                            format_signed_percent(first.mean_error),
                            in_percent(first.coverage)};
    const auto same = std::find_if(today.begin(), today.end(),
                                   [&](const ValidationTable& table) { return table.name == first.table; });
    const SourceScore now = same != today.end() ? score(same->runs, first.table, "AB") : SourceScore{};
    const ErrorStatistics& e = now.errors;
    if (e.count > 0) {
      cells.insert(cells.end(), {e.count, in_percent(e.mape), in_percent(e.median_ape),
                                 format_signed_percent(e.mean_error), in_percent(now.coverage)});
    }
    cells.resize(12, Cell("-"));
    out.add(std::move(cells));
  }
  return out;
}

Table left_out_table(const std::string& title, const LeftOutRanges& left_out, ReportForm form) {
  const bool file = form == ReportForm::file;
  Table out(fmt::format("{} | >rows | >in range | >width", title));
  for (const LeftOutTable& table : left_out.tables) {
    out.add({std::filesystem::path(table.name).stem().string(), table.runs, in_percent(table.coverage),
             in_percent(table.mean_width)});
  }
  const auto add_mean = [&](const MeanRanges& mean, const char* of) {
    if (mean.tables == 0) return;
    out.add({sum_name(file ? fmt::format("mean of {} {}", mean.tables, of) : fmt::format("mean of {}", of), form),
             file ? Cell("") : Cell(mean.tables), in_percent(mean.coverage), in_percent(mean.mean_width)});
  };
  add_mean(left_out.known, "tables");
  add_mean(left_out.first_contact, "first contacts");
  return out;
}

Table familiarity_table(const LeftOutRanges& left_out) {
  Table out("sources that measured the software on such GPUs | >tables | >rows | >in range | >width");
  for (const auto& [sources, mean] : left_out.by_sources()) {
    const bool most = sources == kMostSources;
    out.add({sources == 0 ? "none" : fmt::format("{}{}", sources, most ? " or more" : ""), mean.tables, mean.runs,
             in_percent(mean.coverage), in_percent(mean.mean_width)});
  }
  return out;
}

}  // namespace mirfak
