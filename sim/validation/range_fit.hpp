#pragma once

#include "cost/range_widths.hpp"
#include "validation/validate_runs.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// The ranges of one table's predictions, whose widths were fitted to all other tables.
struct LeftOutTable {
  std::string name;
  int runs = 0;
  double coverage = 0;    // share of the measurements that lie inside
  double mean_width = 0;  // of the ranges, as shares of the predictions
};

// Means over tables, each left out in turn.
struct LeftOutRanges {
  std::vector<LeftOutTable> tables;
  double coverage = 0;
  double mean_width = 0;
};

// The same of peaks of memory that the framework allocates.
struct MemoryRanges {
  MemoryWidths widths;
  LeftOutRanges left_out;
};
// nullopt: fewer than two tables state any.
std::optional<MemoryRanges> fit_memory_ranges(std::span<const ValidatedRun> runs, double level);

// Widths of ranges that `level` of the measured runs keep, half of the others on either side: quantiles of
// ln(measured / predicted), linear in the shares of their uncertainties, none of which is negative. Every table counts
// nearly alike, however many runs it has. Runs without a prediction or a measurement do not count. Error(input) if
// fewer than two tables have runs that do.
RangeWidths fit_range_widths(std::span<const ValidatedRun> runs, double level);

// How honest such widths are for a table that had no say in them. Error(input) as above, for fewer than three tables.
LeftOutRanges judge_range_widths(std::span<const ValidatedRun> runs, double level);

// Ranges that promise `level`, and what they keep: means over tables, each left out of the fit.
struct Reliability {
  double level = 0;
  double coverage = 0;
  double mean_width = 0;
};
// From 10 to 95 %. Empty for fewer than three tables.
std::vector<Reliability> reliability_of_ranges(std::span<const ValidatedRun> runs);

// The widths as `ranges.yaml`: `source` says what they were fitted to.
std::string ranges_yaml(const RangeWidths& widths, const LeftOutRanges& left_out, const std::string& source);
std::string memory_ranges_yaml(const MemoryRanges& ranges);  // a section of that file

}  // namespace mirfak
