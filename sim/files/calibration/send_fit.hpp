#pragma once

#include "calibration/table_kind.hpp"

namespace mirfak {

// Fits the figures send_latency_s and send_efficiency of a link to the rows `sendrecv` of tables of collectives on one
// node: one rank sends `bytes` to another. Returns nothing if there are fewer than 4 such rows.
std::vector<FittedSection> fit_sends(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
