#include "calibration/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

const TableKind& kind_of(const CsvTable& table) {
  const std::vector<TableKind>& kinds = table_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const TableKind& kind) { return kind.recognises(table); });
  if (found != kinds.end()) return *found;
  std::string known;
  for (const TableKind& kind : kinds)
    known += fmt::format("{}{}: {}", known.empty() ? "" : "; ", kind.name, kind.columns);
  fail_input({table.name(), 0, 0}, "no known kind of measured table has these columns", "expected " + known);
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
    for (FittedSection& section : kind.fit(own, target)) {
      section.source = target.source_of(section.source, own);
      out.push_back(std::move(section));
    }
  }
  return out;
}

}  // namespace mirfak
