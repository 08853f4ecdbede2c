#pragma once

#include "validation/range_fit.hpp"
#include "validation/spread_of_tables.hpp"
#include "validation/validate_runs.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// The scored rows of one table of runs, its errors, and the rows that could not be simulated with their reasons.
struct ValidationTable {
  std::string name;
  std::vector<ValidatedRun> runs;
};

// Rows of the tiers named count, and rows without a tier.
bool counts(const ValidatedRun& run, const std::string& tiers);
std::vector<ValidatedRun> all_runs(const std::vector<ValidationTable>& tables);
std::string what_ran(const MeasuredRun& run);  // "GPT 22B on 8 A100-80GB tp8 mb4 fp16"

// A line per table and, with several, one of the mean over tables; then `worst` rows and the reasons of skipped ones.
// `tiers`: which graded rows count (see score()).
std::string validation_text(const std::vector<ValidationTable>& tables, const std::string& tiers, int worst);

// How honest ranges are for tables that had no say in their widths.
std::string ranges_text(const LeftOutRanges& left_out);
std::string memory_ranges_text(const LeftOutRanges& left_out);  // of peaks of memory
// What a few runs of one's own tell of the others.
std::string own_runs_text(const OwnRunsScore& score);

// Keys as DESIGN 5.2 names them: rows (line, table, model, tier, predicted, measured, error, fits, ...), n, skipped,
// mape, median_ape, p90_ape, spearman, tables (the same of each), skipped_rows.
nlohmann::ordered_json validation_json(const std::vector<ValidationTable>& tables, const std::string& tiers);

// A row per run as CSV: place, what ran, predicted, measured, error, reason.
std::string validation_csv(const std::vector<ValidationTable>& tables);

}  // namespace mirfak
