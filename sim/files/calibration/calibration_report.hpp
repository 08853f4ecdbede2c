#pragma once

#include "calibration/calibrated_tables.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Returns the text of a calibration: for each section its constants and its errors on the fitted and on the held-out
// part; then the columns that were not read.
std::string calibration_text(const CalibratedTables& tables);

// Returns JSON. `sections`: name ("gemm.bf16"), constants by name, source, doubtful (is_doubtful), scores (name, and
// for fitted and held_out: n, mape, median_ape, p90_ape as fractions). `unread_columns`: place, name.
nlohmann::ordered_json calibration_json(const CalibratedTables& tables);

}  // namespace mirfak
