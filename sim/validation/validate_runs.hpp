#pragma once

#include "base/error_statistics.hpp"
#include "cost/activity.hpp"
#include "cost/range_widths.hpp"
#include "scenario/scenario.hpp"
#include "validation/measured_run.hpp"
#include "validation/run_mappings.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A measured run with what mirfak predicts of it.
struct ValidatedRun {
  MeasuredRun run;
  std::string skipped;             // why there is no prediction; empty: there is one
  std::optional<Refusal> refusal;  // the cell that was not understood, where that is why
  std::string reading;             // how the row was read, for people (reading_text)
  std::string assumed;             // what the row leaves open and the run must have done to fit; empty: nothing
  std::string scenario;            // YAML; empty where the row does not make one
  PredictedPair seconds;
  std::optional<double> left_out_s;  // predicted by what sources other than its table choose, where that differs
  PredictedPair allocated_bytes;     // measured: 0 where the row does not say
  bool fits = false;                 // in memory, as predicted
  double memory_peak_bytes = 0;
  ActivitySeconds activity_s{};  // predicted; mean over stages
  UncertaintyShares uncertainty{};
  std::string machine, framework;  // names of the node type, "" where there are several; and of this
  // Where they are asked for: what the prediction follows (simulation/time_factors.hpp), and of what it is.
  std::optional<FactorVector> time_sensitivities;
  std::shared_ptr<const Scenario> simulated_scenario;
  std::optional<PredictionRange> range;  // that such measurements keep; absent where nothing is known

  bool simulated() const { return skipped.empty(); }
  // By constants that others than its table choose; nullopt: it was one of those that chose them.
  std::optional<PredictedPair> left_out() const {
    if (!run.chose.empty()) return std::nullopt;
    return PredictedPair{left_out_s.value_or(seconds.predicted), seconds.measured};
  }
  bool scored() const { return simulated() && !run.out_of_memory && seconds.measured > 0; }  // has seconds to compare
  bool ran() const { return scored() || (simulated() && run.ran); }
  bool in_range() const { return range && seconds.measured >= range->low_s && seconds.measured <= range->high_s; }
};

// Reads every row of `table` by its mapping: `own`, else the file beside the table, else that of `mappings`. Makes a
// scenario of each and simulates it, on all cores. A row that is not understood or cannot be simulated is there with
// its reason. Error(input) for a table or a mapping that cannot be read, and at the place in a mapping that a scenario
// refuses. `sensitivities`: with ValidatedRun::time_sensitivities, which takes four times as long.
std::vector<ValidatedRun> validate_runs(const CsvTable& table, const RunMappings& mappings, const DataFolders& folders,
                                        const RunMapping* own = nullptr, bool sensitivities = false);

// The scenarios only: nothing is simulated.
std::vector<ValidatedRun> read_runs(const CsvTable& table, const RunMappings& mappings, const DataFolders& folders,
                                    const RunMapping* own = nullptr);

// The runs of one source, or of all together.
struct SourceScore {
  std::string source;
  ErrorStatistics errors;
  ErrorStatistics left_out;       // by constants that the table did not choose, of rows that chose none
  ErrorStatistics memory_errors;  // of rows that state what was allocated
  int skipped = 0;
  int ran = 0;              // simulated rows that ran, with or without seconds
  int too_large = 0;        // ... and are predicted not to fit
  int out_of_memory = 0;    // rows that did not fit
  int wrongly_fitting = 0;  // ... and are predicted to
  double coverage = 0;      // share of the scored rows that lie in their ranges
  double mean_width = 0;    // of the ranges, as shares of the predictions; 0: there are none

  int outcomes() const { return ran + out_of_memory; }
  int right_outcomes() const { return outcomes() - too_large - wrongly_fitting; }
};

// Means over tables of what they are off by, by constants that others than they themselves chose.
class LeftOutMeans {
 public:
  void add(const SourceScore& of_table) {
    if (of_table.left_out.count == 0) return;
    mape_ += of_table.left_out.mape;
    median_ += of_table.left_out.median_ape;
    ++tables_;
  }
  double mape() const { return tables_ > 0 ? mape_ / tables_ : 0; }
  double median() const { return tables_ > 0 ? median_ / tables_ : 0; }

 private:
  double mape_ = 0;
  double median_ = 0;
  int tables_ = 0;
};

// Scores of the tables that `runs` come from, by file, in the order of the first row of each; rows of tiers other than
// those in `tiers` ("AB"; rows without a tier always count) are left out.
SourceScore score(const std::vector<ValidatedRun>& runs, const std::string& name, const std::string& tiers);

}  // namespace mirfak
