#pragma once

#include "cost/range_widths.hpp"
#include "validation/validate_runs.hpp"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Ranges of some predictions, with their means over these.
struct JudgedRanges {
  int runs = 0;
  double coverage = 0;    // share of the measurements that lie inside
  double mean_width = 0;  // as shares of the predictions
};

// The ranges of one table's predictions, with widths that were fitted to all other tables.
struct LeftOutTable : JudgedRanges {
  std::string name;
  bool first_contact = false;  // its runs changed nothing of the model (ValidatedRun::first_contact)
  // Its runs by the number of sources that measured their software on GPUs of their architecture, this table among
  // them; kMostSources: as many or more. Runs on GPUs of several architectures are in none.
  std::map<int, JudgedRanges> by_sources;
};
inline constexpr int kMostSources = 3;

// Means over tables of the ranges of their predictions.
struct MeanRanges {
  int tables = 0;
  int runs = 0;
  double coverage = 0;
  double mean_width = 0;
};

// Tables, each left out in turn, with means over those that are known and over those of a first contact.
struct LeftOutRanges {
  std::vector<LeftOutTable> tables;
  MeanRanges known;
  MeanRanges first_contact;

  // Means over the tables with runs whose software so many sources measured (LeftOutTable::by_sources).
  std::map<int, MeanRanges> by_sources() const;
};

// Fitted ranges of peaks of memory that the framework allocates.
struct MemoryRanges {
  MemoryWidths widths;
  LeftOutRanges left_out;
};
// Fits ranges of memory; nullopt if fewer than two tables state any.
std::optional<MemoryRanges> fit_memory_ranges(std::span<const ValidatedRun> runs, double level);

// Fitted ranges of the mean power of GPUs over an iteration.
struct PowerRanges {
  PowerWidths::Sides gpus;
  LeftOutRanges left_out;
};
// Fits ranges of power; nullopt if fewer than two tables state any.
std::optional<PowerRanges> fit_power_ranges(std::span<const ValidatedRun> runs, double level);

using Measured = std::shared_ptr<const MeasuredSoftware>;
// Counts the tables that measured each framework on each architecture. Runs of a first contact changed no prediction,
// and do not count.
MeasuredSoftware measured_software(std::span<const ValidatedRun> runs);

// Fits the widths of ranges that hold a share `level` of the measured runs, with half of the other runs on either side:
// quantiles of ln(measured / predicted), linear in the shares of their uncertainties, with no negative coefficient.
// Every table counts nearly alike, for any number of runs. Runs without a prediction or a measurement do not count.
// First contacts decide the width of Uncertainty::unmeasured alone, which is 0 without them.
// `measured` becomes RangeWidths::measured; nullptr: measured_software() of these runs. Error(input) if fewer than two
// tables have runs that count.
RangeWidths fit_range_widths(std::span<const ValidatedRun> runs, double level, Measured measured = nullptr);

// Judges the honesty of such widths for tables that are left out of the fit. Error(input) as of fit_range_widths(), and
// for fewer than three tables.
LeftOutRanges judge_range_widths(std::span<const ValidatedRun> runs, double level, Measured measured = nullptr);

// Ranges for the promised `level`, and their actual coverage: means over tables, each left out of the fit.
struct Reliability {
  double level = 0;
  double coverage = 0;
  double mean_width = 0;
};
// Judges ranges from 10 to 95 %. Empty for fewer than three tables.
std::vector<Reliability> reliability_of_ranges(std::span<const ValidatedRun> runs);

// Returns the widths as `ranges.yaml`; `source` names the runs that they were fitted to, `frameworks` those of the data
// folder, measured or not. The section `measured` is there if first contacts say what it means.
std::string ranges_yaml(const RangeWidths& widths, const LeftOutRanges& left_out, const std::string& source,
                        std::span<const std::string> frameworks = {});
std::string memory_ranges_yaml(const MemoryRanges& ranges);  // one section of that file
std::string power_ranges_yaml(const PowerRanges& ranges);    // another, without the hosts, which no table tells

}  // namespace mirfak
