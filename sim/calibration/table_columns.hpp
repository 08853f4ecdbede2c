#pragma once

#include "calibration/table_kind.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// The kind of a table by its header. Error(input) for a table of no kind: at the column that is nearly one of those
// that a kind needs, else with what is missing, else with all headers that are known; and for a column that is nearly
// one that the kind reads where it is there, at its place.
const TableKind& kind_of(const CsvTable& table);

// A column that a table has and its kind does not read.
struct UnreadColumn {
  Location where;
  std::string name;
  std::string nearest;  // of the columns that the kind knows; empty: none is near
};

// Those of all tables, but for what `filters` read.
std::vector<UnreadColumn> unread_columns(std::span<const CsvTable> tables, std::span<const RowFilter> filters);

}  // namespace mirfak
