#pragma once

#include "calibration/table_kind.hpp"

namespace mirfak {

// The constants that the tables determine, in the order of table_kinds(). Error(input) for a table that no kind
// recognises, with the headers that are known, and for faults of a table at their place.
std::vector<FittedSection> calibrate(std::vector<CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
