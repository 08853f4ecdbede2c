#pragma once

#include "plan/search_outcome.hpp"
#include "scenario/comparison_file.hpp"
#include "scenario/search_scenario.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A figure of the whole training, with the range that follows from the range of the iteration.
struct RangedFigure {
  double value = 0;
  double low = 0;  // `low` and `high` equal `value` if the range is not known
  double high = 0;

  RangedFigure times(double factor) const { return {value * factor, low * factor, high * factor}; }
  bool overlaps(const RangedFigure& other) const { return low <= other.high && other.low <= high; }
};

// Result of the job on one of its options.
struct OptionResult {
  std::string option;
  int nodes = 0;
  int gpus = 0;
  std::optional<SearchScenario> scenario;  // absent: the scenario was refused
  std::string refused;                     // reason of the refusal, in words
  std::string file = {};                   // scenario of the best strategy that was written; "": none
  SearchOutcome outcome;                   // outcome of the search

  // Members for the best strategy, if there is one.
  const SimulatedStrategy* best() const { return outcome.strategies.empty() ? nullptr : &outcome.strategies.front(); }
  bool runs() const { return best() != nullptr && finish_s.value < kNever; }
  RangedFigure finish_s;                            // seconds from the start of the whole training to its end
  std::optional<RangedFigure> cost_usd;             // absent: no price is known
  RangedFigure energy_j;                            // energy of the GPUs
  std::optional<RangedFigure> facility_j;           // absent: the scenario says nothing of the facility
  std::optional<RangedFigure> co2_kg;               // from the facility's energy; absent: no intensity is known
  double memory_headroom = 0;                       // share of the fullest GPU's memory that is free
  bool in_time = true;                              // finish_s.value is within the deadline, if there is one
  bool surely_in_time = true;                       // finish_s.high is within the deadline, if there is one
  std::optional<std::chrono::sys_days> start;       // latest day to start the training so that it meets finish_by
  std::optional<std::chrono::sys_days> sure_start;  // latest day to start if the upper end of the range holds
  bool ties_with_first = false;                     // range of the ordering figure overlaps with the first row's

  static constexpr double kNever = 1e300;
};

struct Comparison {
  std::vector<OptionResult> rows;  // first rows in time, in the wanted order; then late rows; then rows that do not run
  ComparisonOrder order{};         // figure that orders the rows
  bool complete = true;            // false if stopped: rows are missing, or searches were cut short
  bool with_operations = false;    // times follow from the closed form of failures and checkpoints
};

// Called with the number of choices that are done.
using ComparisonProgress = std::function<void(std::size_t done)>;

// Searches the best strategy of each choice, and makes a table of the results. A choice that cannot run is a row with
// the reason: also one whose section `operations` has something that the closed form does not cover. Error(input) if a
// choice cannot be understood or training.tokens is missing. `jobs`: threads, 0: all cores.
Comparison compare_options(const ComparisonFile& file, const DataFolders& folders, int jobs = 0,
                           const ComparisonProgress& progress = {}, const SearchStop& stop = {});

}  // namespace mirfak
