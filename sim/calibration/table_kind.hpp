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

// Which rows of a table count: those whose field in `column` is `value`.
struct RowFilter {
  std::string column;
  std::string value;
};

// What the tables are measurements of.
struct CalibrationTarget {
  const Catalog& catalog;              // must outlive it
  std::string gpu;                     // name in the catalog, or empty
  std::string link;                    // name in the catalog, or empty
  std::optional<Precision> precision;  // of all rows, where the tables do not say
  std::vector<RowFilter> filters;      // every one must hold
  std::string source;                  // where the tables are from, for the profile; empty: their names
  bool score_only = false;             // keep the profile's constants: how well do they describe these tables?
  std::string attention = "trtllm";    // whose calls tables of attention measure: one of attention_kernel_names()
  bool own_peaks = false;              // the profile's peaks were made of these tables: no row can be above them

  // The named GPU or link: Error(input) that names the option when there is none.
  GpuSpec gpu_spec() const;
  LinkSpec link_spec() const;
  // "fit of 200 of 300 measured products, gemm_a100.csv": what stands in the profile behind fitted constants.
  std::string source_of(std::string_view fit, std::span<const CsvTable> tables) const;
  // Whether a row counts. A column that the table lacks is Error(input).
  bool selects(const CsvTable& table, std::size_t row) const;
  // Error(input) at the field of a time that is shorter than `least_s`, what the hardware needs at its peak. `what` of
  // it: "h100's peak of 989 TFLOP/s in bf16".
  void check_possible(const CsvTable& table, std::size_t row, std::size_t column, double seconds, double least_s,
                      std::string_view what) const;
};

// The highest rate of a GPU in a precision, at the highest clock that it may run at, in FLOP/s.
double highest_flops(const GpuSpec& gpu, Precision precision);

struct FittedConstant {
  std::string name;  // its key in the profile; "head_dims.64.tail": under the keys head_dims and 64
  double value = 0;
};

// Errors on the part fitted and on the held-out part, of all samples or of some.
struct FitScore {
  std::string name;  // "all", "m >= 1024"
  ErrorStatistics fitted;
  ErrorStatistics held_out;
};

// Errors of the samples that `counts` accepts; it gets their indices in the problem's `measured`.
FitScore score_where(std::string name, const ParameterFit& fit, const std::function<bool(std::size_t)>& counts);

// One mapping of a profile: gemm.bf16 of a GPU; or figures that stand by themselves.
struct FittedSection {
  std::vector<std::string> path;  // {"gemm", "bf16"}; one or two keys; none: figures of the profile itself
  std::vector<FittedConstant> constants;
  std::string source;                          // what stands behind them, for the profile's `sources`
  std::string source_key;                      // its key there, "gemm_bf16"
  std::vector<std::vector<std::string>> kept;  // keys below `path` that stay as a profile has them: {"head_dims", "64"}
  std::vector<FitScore> scores;                // at least one; the last one is written into the profile
  ProfileKind profile = ProfileKind::gpu;      // or link: what it is a part of

  std::string name() const;     // "gemm.bf16", or its source's where it has no path
  double median_error() const;  // of the last score, the larger of the fitted and the held-out part
};

// Whether half of the measurements are off by more than a half: the formula does not describe the tables.
bool is_doubtful(const FittedSection& section);

// A kind of measured table: how to recognise one by its header, and how to fit the constants it determines.
struct TableKind {
  std::string_view name;      // "gemm"
  std::string_view columns;   // the headers it is recognised by: "m,n,k,latency_us or m,n,k,time_ms"
  std::string_view optional;  // what else it reads: "window,causal"
  ProfileKind profile;        // what its constants are a part of
  bool (*recognises)(const CsvTable& table);
  // All tables of this kind that were given, at least one. Error(input) at the field of a fault.
  std::vector<FittedSection> (*fit)(std::span<const CsvTable> tables, const CalibrationTarget& target);
};

const std::vector<TableKind>& table_kinds();

// Whether `table` has every one of `columns`: what most kinds are recognised by.
bool has_columns(const CsvTable& table, std::initializer_list<std::string_view> columns);

}  // namespace mirfak
