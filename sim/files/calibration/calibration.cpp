#include "calibration/calibration.hpp"

#include "calibration/table_columns.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

void check_counted(const FittedSection& section, const CsvTable& table) {
  const FitScore& score = section.scores.front();
  if (score.fitted.count + score.held_out.count > 0) return;
  fail_input({table.name(), 0, 0}, fmt::format("no row of the tables counts for {}", section.name()),
             "check --only, and what the rows measure");
}

}  // namespace

std::vector<FittedSection> calibrate(std::vector<CsvTable> tables, const CalibrationTarget& target) {
  std::vector<FittedSection> out;
  std::vector<const TableKind*> kinds;
  for (const CsvTable& table : tables) kinds.push_back(&kind_of(table));
  for (const TableKind& kind : table_kinds()) {
    std::vector<CsvTable> own;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (kinds[i] == &kind) own.push_back(std::move(tables[i]));
    }
    if (own.empty()) continue;
    std::vector<FittedSection> sections = kind.fit(own, target);
    if (sections.empty()) {
      fail_input({own.front().name(), 0, 0}, "the table has no row that says anything of a profile",
                 fmt::format("check --only, and what the rows measure; a table of the kind {} has {}", kind.name,
                             kind.columns));
    }
    for (FittedSection& section : sections) {
      check_counted(section, own.front());
      section.source = target.source_of(section.source, own);
      section.profile = kind.profile;
      out.push_back(std::move(section));
    }
  }
  return out;
}

}  // namespace mirfak
