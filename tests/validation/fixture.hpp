#pragma once

#include "validation/validate_runs.hpp"

#include <string>
#include <vector>

namespace mirfak::test {

DataFolders folders();
const RunMappings& mappings();  // of validate/published

// A table named "runs.csv", which no mapping file describes.
CsvTable table(const std::string& text);

// Reads the rows of a table and makes them scenarios; nothing is simulated.
std::vector<ValidatedRun> read(const std::string& text);

// One row: a run of GPT 22B on 8 A100 that can be simulated, with `columns` added or replaced ("dtype=float8").
struct Cell {
  std::string column;
  std::string text;
};
ValidatedRun row_with(const std::vector<Cell>& cells);
Job job_of(const ValidatedRun& run);

}  // namespace mirfak::test
