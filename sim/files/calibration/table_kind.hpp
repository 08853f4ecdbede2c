#pragma once

#include "base/csv.hpp"
#include "base/error_statistics.hpp"
#include "calibration/parameter_fit.hpp"
#include "cluster/catalog.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A condition on the rows of a table that count: their field in `column` is `value`.
struct RowFilter {
  std::string column;
  std::string value;
};

// The hardware that the tables were measured on, and the options of a fit.
struct CalibrationTarget {
  const Catalog& catalog;              // must outlive the target
  std::string gpu;                     // name in the catalog, or empty
  std::string link;                    // name in the catalog, or empty
  std::optional<Precision> precision;  // precision of all rows, if the tables do not state it
  std::vector<RowFilter> filters;      // all of them must hold
  std::string source;                  // origin of the tables, for the profile; empty: their names
  bool score_only = false;             // keep the profile's constants, and compute their errors on these tables
  std::string attention = "trtllm";    // the kernels that tables of attention measure: one of attention_kernel_names()
  bool own_peaks = false;              // the profile's peaks come from these tables: no row can be above them

  // Returns the named GPU or link. Error(input) that names the option if no name was given.
  GpuSpec gpu_spec() const;
  LinkSpec link_spec() const;
  // Returns "fit of 200 of 300 measured products, gemm_a100.csv": the source that the profile states for fitted
  // constants.
  std::string source_of(std::string_view fit, std::span<const CsvTable> tables) const;
  // True if a row counts. Error(input) if the table lacks the column of a filter.
  bool selects(const CsvTable& table, std::size_t row) const;
  // Throws Error(input) at the field of a time that is shorter than `least_s`, the time that the hardware needs at its
  // peak. `what` names the peak: "h100's peak of 989 TFLOP/s in bf16".
  void check_possible(const CsvTable& table, std::size_t row, std::size_t column, double seconds, double least_s,
                      std::string_view what) const;
};

// Returns the highest rate of a GPU in a precision, at its highest clock, in FLOP/s.
double highest_flops(const GpuSpec& gpu, Precision precision);

struct FittedConstant {
  std::string name;  // its key in the profile; "head_dims.64.tail": under the keys head_dims and 64
  double value = 0;
};

// Errors on the fitted part and on the held-out part, of all samples or of some.
struct FitScore {
  std::string name;  // "all", "m >= 1024"
  ErrorStatistics fitted;
  ErrorStatistics held_out;
};

// Returns the errors of the samples that `counts` accepts; `counts` gets their indices in the problem's `measured`.
FitScore score_where(std::string name, const ParameterFit& fit, const std::function<bool(std::size_t)>& counts);

// One mapping of a profile, such as gemm.bf16 of a GPU; or single figures at the top level of a profile.
struct FittedSection {
  std::vector<std::string> path;  // {"gemm", "bf16"}; one or two keys; none: figures of the profile itself
  std::vector<FittedConstant> constants;
  std::string source;                          // source of the constants, for the profile's `sources`
  std::string source_key;                      // key of the source there, "gemm_bf16"
  std::vector<std::vector<std::string>> kept;  // keys below `path` that stay as a profile has them: {"head_dims", "64"}
  std::vector<FitScore> scores;                // at least one; the last one is written into the profile
  ProfileKind profile = ProfileKind::gpu;      // kind of the section's profile, GPU or link

  std::string name() const;     // "gemm.bf16", or the source's key if it has no path
  double median_error() const;  // the last score's median error, the larger of the fitted and the held-out part
};

// True if half of the measurements are off by more than a half: the formula does not describe the tables.
bool is_doubtful(const FittedSection& section);

// A kind of measured table: functions that recognise it by its header and fit the constants that it determines.
struct TableKind {
  std::string_view name;      // "gemm"
  std::string_view columns;   // the headers that identify it: "m,n,k,latency_us or m,n,k,time_ms"
  std::string_view optional;  // optional columns that it also reads: "window,causal"
  ProfileKind profile;        // kind of the profile that holds its constants
  bool (*recognises)(const CsvTable& table);
  // Fits all given tables of this kind, at least one. Error(input) at the field of a fault.
  std::vector<FittedSection> (*fit)(std::span<const CsvTable> tables, const CalibrationTarget& target);
};

const std::vector<TableKind>& table_kinds();

// True if `table` has every one of `columns`: most kinds are recognised in this way.
bool has_columns(const CsvTable& table, std::initializer_list<std::string_view> columns);

}  // namespace mirfak
