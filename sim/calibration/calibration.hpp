#pragma once

#include "calibration/table_kind.hpp"

namespace mirfak {

// The constants that the tables determine, in the order of table_kinds(). Error(input) as of kind_of(), for a table of
// which no row counts, and for faults of a table at their place: times that the hardware cannot reach among them.
std::vector<FittedSection> calibrate(std::vector<CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
