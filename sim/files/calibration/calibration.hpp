#pragma once

#include "calibration/table_kind.hpp"

namespace mirfak {

// Fits the constants that the tables determine, in the order of table_kinds(). Error(input) as of kind_of(), for a
// table without a row that counts, and, at its place, for a fault of a table, such as a time that the hardware cannot
// reach.
std::vector<FittedSection> calibrate(std::vector<CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
