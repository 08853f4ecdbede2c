#pragma once

#include "base/error_statistics.hpp"
#include "cost/activity.hpp"
#include "cost/range_widths.hpp"
#include "scenario/scenario.hpp"
#include "validation/measured_run.hpp"
#include "validation/run_mappings.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Powers and energies that rows state: means of powers over an iteration, and energies of an iteration, which are such
// a mean times the seconds that the row states.
enum class DrawnQuantity : std::uint8_t { gpu_power, machine_power, gpu_energy, machine_energy };
inline constexpr std::size_t kDrawnQuantities = 4;
std::string_view name_of(DrawnQuantity quantity);  // for people
std::string_view key_of(DrawnQuantity quantity);   // for files

// A prediction and its measurement, in W or J, and the range of such measurements; {0, 0}: no range is known.
struct RangedPair {
  PredictedPair pair;
  double low = 0;
  double high = 0;

  bool ranged() const { return high > 0; }
  bool in_range() const { return ranged() && pair.measured >= low && pair.measured <= high; }
};
using DrawnPairs = std::array<std::optional<RangedPair>, kDrawnQuantities>;  // by DrawnQuantity; nullopt: not stated

// A measured run with mirfak's prediction.
struct ValidatedRun {
  MeasuredRun run;
  std::string skipped;             // reason for a missing prediction; empty: there is one
  std::optional<Refusal> refusal;  // the cell that was not understood, if that is the reason
  std::string reading;             // reading of the row, for people (reading_text)
  std::string assumed;             // savings that the row leaves open and the run must have used to fit; empty: none
  std::string scenario;            // YAML; empty if the row does not give a scenario
  PredictedPair seconds;
  std::optional<double> left_out_s;  // predicted by the constants of sources other than its table, if they differ
  PredictedPair allocated_bytes;     // measured: 0 if the row does not state it
  DrawnPairs drawn;
  bool fits = false;       // fits in memory, as predicted: what is allocated
  bool held_back = false;  // a search holds it back, as it may not fit (search.fit_probability)
  double memory_peak_bytes = 0;
  ActivitySeconds activity_s{};  // predicted; mean over stages
  UncertaintyShares uncertainty{};
  HostMargins hosts;
  std::string machine, framework;  // node type, "" if there are several; framework
  std::string software;            // framework of the data folder: itself, or the nearest that it inherits from
  std::string architecture;        // architecture of the GPUs; "" if there are several
  bool first_contact = false;      // nothing of the model was chosen or changed because of this run
  // Set on request only: the sensitivities of the prediction (simulation/time_factors.hpp), and the simulated scenario.
  std::optional<FactorVector> time_sensitivities;
  std::shared_ptr<const Scenario> simulated_scenario;
  std::optional<PredictionRange> range;  // range of such measurements; absent if nothing is known

  bool simulated() const { return skipped.empty(); }
  // Returns the pair predicted by constants that other tables determined; nullopt if this run determined constants
  // itself.
  std::optional<PredictedPair> left_out() const {
    if (!run.chose.empty()) return std::nullopt;
    return PredictedPair{left_out_s.value_or(seconds.predicted), seconds.measured};
  }
  bool scored() const { return simulated() && !run.out_of_memory && seconds.measured > 0; }  // has seconds to compare
  bool ran() const { return scored() || (simulated() && run.ran); }
  bool in_range() const { return range && seconds.measured >= range->low_s && seconds.measured <= range->high_s; }
};

// Reads every row of `table` by its mapping: `own`, else the file next to the table, else that of `mappings`. Makes a
// scenario of each row and simulates it, on all cores. A row that is not understood or cannot be simulated is returned
// with its reason. Error(input) for a table or a mapping that cannot be read, and at a place in a mapping whose value a
// scenario refuses. `sensitivities`: also sets ValidatedRun::time_sensitivities, which takes four times as long.
std::vector<ValidatedRun> validate_runs(const CsvTable& table, const RunMappings& mappings, const DataFolders& folders,
                                        const RunMapping* own = nullptr, bool sensitivities = false);

// Reads the scenarios only: nothing is simulated.
std::vector<ValidatedRun> read_runs(const CsvTable& table, const RunMappings& mappings, const DataFolders& folders,
                                    const RunMapping* own = nullptr);

// Scores of powers or energies.
struct DrawnScore {
  ErrorStatistics errors;
  double coverage = 0;    // share of the rows that lie in their ranges
  double mean_width = 0;  // mean width of the ranges, as shares of the predictions; 0: there are none
};

// Scores of the runs of one source, or of all sources together.
struct SourceScore {
  std::string source;
  ErrorStatistics errors;
  ErrorStatistics left_out;       // by constants that other tables determined, for rows that determined none
  ErrorStatistics memory_errors;  // for rows that state the allocated memory
  std::array<DrawnScore, kDrawnQuantities> drawn;  // for rows that state them, by DrawnQuantity
  int skipped = 0;
  int ran = 0;              // simulated rows that ran, with or without seconds
  int too_large = 0;        // rows of `ran` that are predicted not to fit
  int out_of_memory = 0;    // rows that did not fit
  int wrongly_fitting = 0;  // rows of `out_of_memory` that are predicted to fit
  double coverage = 0;      // share of the scored rows that lie in their ranges
  double mean_width = 0;    // mean width of the ranges, as shares of the predictions; 0: there are none

  int outcomes() const { return ran + out_of_memory; }
  int right_outcomes() const { return outcomes() - too_large - wrongly_fitting; }
};

// Means over tables of their errors, by constants that other tables determined.
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

// Scores the runs together under the name `name`; rows of tiers other than those in `tiers` ("AB") are left out; rows
// without a tier always count.
SourceScore score(const std::vector<ValidatedRun>& runs, const std::string& name, const std::string& tiers);

}  // namespace mirfak
