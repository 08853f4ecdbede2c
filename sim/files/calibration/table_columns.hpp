#pragma once

#include "calibration/table_kind.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Returns the kind of a table by its header. Error(input) for a table of no kind: at a column whose name is close to
// one that a kind needs, else with the missing columns, else with all known headers. Error(input) also at a column
// whose name is close to an optional column of the kind that the table lacks.
const TableKind& kind_of(const CsvTable& table);

// A column of a table that the table's kind does not read.
struct UnreadColumn {
  Location where;
  std::string name;
  std::string nearest;  // nearest of the columns that the kind knows; empty: none is near
};

// Returns the unread columns of all tables, except the columns that `filters` read.
std::vector<UnreadColumn> unread_columns(std::span<const CsvTable> tables, std::span<const RowFilter> filters);

}  // namespace mirfak
