#pragma once

#include "plan/search_outcome.hpp"
#include "scenario/comparison_file.hpp"
#include "scenario/search_scenario.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A figure of the whole training with the range that follows from that of the iteration.
struct RangedFigure {
  double value = 0;
  double low = 0;  // both equal `value` where nothing is known of the range
  double high = 0;

  RangedFigure times(double factor) const { return {value * factor, low * factor, high * factor}; }
  bool overlaps(const RangedFigure& other) const { return low <= other.high && other.low <= high; }
};

// The job on one of its options.
struct OptionResult {
  std::string option;
  int nodes = 0;
  int gpus = 0;
  std::optional<SearchScenario> scenario;  // absent: it was refused
  std::string refused;                     // why, in words
  SearchOutcome outcome;                   // of the search

  // What follows is of the best strategy, where there is one.
  const SimulatedStrategy* best() const { return outcome.strategies.empty() ? nullptr : &outcome.strategies.front(); }
  bool runs() const { return best() != nullptr && finish_s.value < kNever; }
  RangedFigure finish_s;                            // from the start of the whole training to its end
  std::optional<RangedFigure> cost_usd;             // absent: no price is known
  RangedFigure energy_j;                            // of the GPUs
  std::optional<RangedFigure> facility_j;           // absent: nothing is said of the facility
  std::optional<RangedFigure> co2_kg;               // of the facility's energy; absent: no intensity is known
  double memory_headroom = 0;                       // share of the fullest GPU's memory that is free
  bool in_time = true;                              // at the value; where there is a deadline
  bool surely_in_time = true;                       // at the upper end of the range, too
  std::optional<std::chrono::sys_days> start;       // the latest, for which the end of the day finish_by is met
  std::optional<std::chrono::sys_days> sure_start;  // the same at the upper end of the range
  bool ties_with_first = false;                     // the ranges of what rows are ordered by overlap

  static constexpr double kNever = 1e300;
};

struct Comparison {
  std::vector<OptionResult> rows;  // those that run in the wanted order, behind them those that are too late, that do
                                   // not run
  ComparisonOrder order{};         // what rows are ordered by
  bool complete = true;            // else it was stopped: rows that are missing, and searches that were cut short
  bool with_operations = false;    // times follow from the closed form of failures and checkpoints
};

// Called when so many choices are done.
using ComparisonProgress = std::function<void(std::size_t done)>;

// Searches the best strategy of each choice, and makes a table of what was found. A choice that cannot run is a row
// that says why; Error(input) where one cannot be understood, or where training.tokens is missing, and
// Error(infeasible) where its section `operations` has what is not in the closed form. `jobs`: threads, 0: all cores.
Comparison compare_options(const ComparisonFile& file, const DataFolders& folders, int jobs = 0,
                           const ComparisonProgress& progress = {}, const SearchStop& stop = {});

}  // namespace mirfak
