#pragma once

#include "validation/range_fit.hpp"
#include "validation/spread_of_tables.hpp"
#include "validation/validate_runs.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// Runs of one table: the scored rows with their errors, and the rows that could not be simulated, with their reasons.
struct ValidationTable {
  std::string name;
  std::vector<ValidatedRun> runs;
};

// True for rows of the named tiers, and for rows without a tier.
bool counts(const ValidatedRun& run, const std::string& tiers);
std::vector<ValidatedRun> all_runs(const std::vector<ValidationTable>& tables);
std::string what_ran(const MeasuredRun& run);  // "GPT 22B on 8 A100-80GB tp8 mb4 fp16"

// Returns a line per table and, with several tables, a line of means over tables; then the `worst` rows, and the
// reasons of skipped rows. `tiers`: the graded rows that count (see score()).
std::string validation_text(const std::vector<ValidationTable>& tables, const std::string& tiers, int worst);

// Returns the reliability of ranges for tables that were left out of the fit of the ranges' widths.
std::string ranges_text(const LeftOutRanges& left_out);
std::string memory_ranges_text(const LeftOutRanges& left_out);  // ranges of peak memory
std::string power_ranges_text(const LeftOutRanges& left_out);   // ranges of the power of GPUs
// Returns the accuracy of predictions that a few own runs correct, on the other runs.
std::string own_runs_text(const OwnRunsScore& score);

// Returns JSON with the keys rows (line, table, model, tier, predicted, measured, error, fits, ...), n,
// skipped, mape, median_ape, p90_ape, spearman, tables (the same keys for each table), skipped_rows; with groups of
// layouts choices (means and sums over groups) and groups (see LayoutChoice).
nlohmann::ordered_json validation_json(const std::vector<ValidationTable>& tables, const std::string& tiers);

// Returns a row per run as CSV: place, what ran, predicted, measured, error, reason.
std::string validation_csv(const std::vector<ValidationTable>& tables);

}  // namespace mirfak
