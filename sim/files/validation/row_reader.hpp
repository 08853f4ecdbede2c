#pragma once

#include "base/csv.hpp"
#include "validation/run_mapping.hpp"
#include "validation/run_reading.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Checks the columns of a table. Error(input) at a column that neither the mapping nor a key's name explains, and for a
// table without columns that the mapping needs.
void check_header(const CsvTable& table, const RunMapping& mapping);

// Reads the cells of a row of a checked table. Words that no rule explains become refusals; Error(input) at cells of
// columns of numbers that are no number.
RunReading read_cells(const CsvTable& table, std::size_t row, const RunMapping& mapping);

// Completes a reading: applies the mapping's inferences in their order, then checks data-parallel ranks and required
// keys against the row. `savings` are set first, for keys that no cell states.
RunReading completed(RunReading reading, const RunMapping& mapping,
                     const std::vector<const MemorySaving*>& savings = {});

// Splits a cell that holds several words, without the blanks around them: at those of `separators` that stand outside
// brackets, and at ; everywhere.
std::vector<std::string> parts_of_cell(std::string_view cell, std::string_view separators);

}  // namespace mirfak
