#pragma once

#include "base/csv.hpp"
#include "validation/run_mapping.hpp"
#include "validation/run_reading.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Error(input) at a column that neither the mapping nor a key's name explains, and for a table without columns that the
// mapping needs.
void check_header(const CsvTable& table, const RunMapping& mapping);

// The cells of a row of a checked table. Words that no rule explains become refusals; Error(input) at cells of columns
// of numbers that are none.
RunReading read_cells(const CsvTable& table, std::size_t row, const RunMapping& mapping);

// What follows from the cells: the mapping's inferences in their order, then whether data-parallel ranks and required
// keys are as the row says. `savings` are set first, where no cell states their keys.
RunReading completed(RunReading reading, const RunMapping& mapping,
                     const std::vector<const MemorySaving*>& savings = {});

// The words of a cell that holds several, blanks around them removed: separated by those of `separators` that stand
// outside brackets, and by ; everywhere.
std::vector<std::string> parts_of_cell(std::string_view cell, std::string_view separators);

}  // namespace mirfak
