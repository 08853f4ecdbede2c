#include "calibration/table_columns.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace mirfak {

namespace {

using Names = std::vector<std::string>;

Names split(std::string_view text, std::string_view by) {
  Names out;
  for (std::size_t at = 0; at <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end + by.size();
  }
  return out;
}

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns all columns that a kind may read, in any form of its tables.
Names known_columns(const TableKind& kind) {
  Names out = split(kind.optional, ",");
  for (const std::string& header : split(kind.columns, " or ")) {
    for (std::string& column : split(header, ",")) out.push_back(std::move(column));
  }
  return out;
}

// The similarity of a table's header to one header of a kind.
struct Match {
  const TableKind* kind = nullptr;
  std::string header;
  Names missing;
  std::size_t present = 0;
  std::size_t misspelt_at = 0;  // column of the table
  std::string meant;            // the missing column whose name is nearest; empty: none is near

  bool better_than(const Match& other) const {
    const std::size_t own = 2 * present + (meant.empty() ? 0 : 1);
    return own > 2 * other.present + (other.meant.empty() ? 0 : 1);
  }
};

Match match_of(const CsvTable& table, const TableKind& kind, const std::string& header) {
  Match out{&kind, header, {}, 0, 0, {}};
  const Names columns = split(header, ",");
  for (const std::string& column : columns) {
    if (table.find(column))
      ++out.present;
    else
      out.missing.push_back(column);
  }
  for (std::size_t i = 0; i < table.header().size() && out.meant.empty(); ++i) {
    if (contains(columns, table.header()[i])) continue;
    out.meant = nearest(table.header()[i], out.missing);
    out.misspelt_at = i;
  }
  return out;
}

[[noreturn]] void fail_unknown(const CsvTable& table) {
  Match best;
  std::string known;
  for (const TableKind& kind : table_kinds()) {
    known += fmt::format("{}{}: {}", known.empty() ? "" : "; ", kind.name, kind.columns);
    for (const std::string& header : split(kind.columns, " or ")) {
      Match match = match_of(table, kind, header);
      if (best.kind == nullptr || match.better_than(best)) best = std::move(match);
    }
  }
  if (!best.meant.empty() && best.present > 0) {
    fail_input(
        table.header_where(best.misspelt_at),
        fmt::format("unknown column '{}'", excerpt(table.header()[best.misspelt_at])),
        fmt::format("did you mean '{}'? a table of the kind {} has {}", best.meant, best.kind->name, best.header));
  }
  if (2 * best.present > split(best.header, ",").size()) {
    fail_input({table.name(), 1, 1}, fmt::format("the table has no column {}", fmt::join(best.missing, ", ")),
               fmt::format("a table of the kind {} has {}", best.kind->name, best.header));
  }
  fail_input({table.name(), 0, 0}, "no known kind of measured table has these columns", "expected " + known);
}

// Refuses a column whose name is close to an optional column that the table lacks.
void check_optional(const CsvTable& table, const TableKind& kind) {
  Names absent = split(kind.optional, ",");
  std::erase_if(absent, [&](const std::string& column) { return table.find(column).has_value(); });
  const Names known = known_columns(kind);
  for (std::size_t i = 0; i < table.header().size(); ++i) {
    const std::string& column = table.header()[i];
    if (contains(known, column)) continue;
    const std::string meant = nearest(column, absent);
    if (meant.empty()) continue;
    fail_input(table.header_where(i), fmt::format("unknown column '{}'", excerpt(column)),
               fmt::format("did you mean '{}'? if not, call it something that is less like it", meant));
  }
}

}  // namespace

const TableKind& kind_of(const CsvTable& table) {
  const std::vector<TableKind>& kinds = table_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const TableKind& kind) { return kind.recognises(table); });
  if (found == kinds.end()) fail_unknown(table);
  check_optional(table, *found);
  return *found;
}

std::vector<UnreadColumn> unread_columns(std::span<const CsvTable> tables, std::span<const RowFilter> filters) {
  std::vector<UnreadColumn> out;
  for (const CsvTable& table : tables) {
    const Names known = known_columns(kind_of(table));
    for (std::size_t i = 0; i < table.header().size(); ++i) {
      const std::string& column = table.header()[i];
      const bool filter =
          std::any_of(filters.begin(), filters.end(), [&](const RowFilter& each) { return each.column == column; });
      if (filter || contains(known, column)) continue;
      out.push_back({table.header_where(i), column, nearest(column, known)});
    }
  }
  return out;
}

}  // namespace mirfak
