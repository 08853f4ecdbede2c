#include "validation/calibrated_runs.hpp"

#include "base/csv.hpp"
#include "base/error.hpp"
#include "base/origin.hpp"
#include "base/staged_file.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace mirfak {

namespace {

// Returns the rows whose cells match `filters`. Error(input) for a column that the table does not have.
std::vector<ValidatedRun> wanted(std::vector<ValidatedRun> runs, const CsvTable& table,
                                 const std::vector<RowFilter>& filters) {
  for (const RowFilter& filter : filters) {
    const std::size_t column = table.require(filter.column);
    std::size_t row = 0;  // runs are the table's rows, in the order of the table
    std::vector<ValidatedRun> kept;
    for (ValidatedRun& run : runs) {
      while (table.where(row, 0).line != run.run.where.line) ++row;
      if (table.text(row, column) == filter.value) kept.push_back(std::move(run));
    }
    runs = std::move(kept);
    if (runs.empty()) {
      fail_input({}, fmt::format("--only {}={}: no row of {} is so", filter.column, filter.value, table.name()));
    }
  }
  return runs;
}

}  // namespace

CalibratedRuns calibrate_by_runs(const RunsToCalibrate& given, const std::filesystem::path& data) {
  const DataFolders folders = data_folders(data);
  const RunMappings mappings = RunMappings::from_folder(mapping_folder(data));
  std::optional<RunMapping> own;
  if (!given.map.empty()) own = mappings.own(given.map);
  const CsvTable table = CsvTable::from_file(given.table);
  CalibratedRuns out;
  out.runs = wanted(validate_runs(table, mappings, folders, own ? &*own : nullptr, true), table, given.filters);
  out.fit = fit_own_runs(out.runs, given.source.empty() ? given.table.filename().string() : given.source);
  if (!given.out.empty()) write_text_file(given.out, origin_comment() + corrected_node_yaml(out.fit));
  return out;
}

}  // namespace mirfak
