#pragma once

#include "processes/machine.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mirfak::measure {

// Columns of a benchmark's results, equally long, each of texts or of numbers.
class MeasuredTable {
 public:
  using Values = std::variant<std::vector<std::string>, std::vector<double>>;

  void add_text_column(std::string name) { columns_.emplace_back(std::move(name), std::vector<std::string>()); }
  void add_column(std::string name) { columns_.emplace_back(std::move(name), std::vector<double>()); }
  // Adds a row, its cells in the order of the columns.
  void add_row(const std::vector<std::variant<std::string, double>>& row);

  const std::vector<std::pair<std::string, Values>>& columns() const { return columns_; }
  std::size_t rows() const { return rows_; }
  std::string csv() const;

 private:
  std::vector<std::pair<std::string, Values>> columns_;
  std::size_t rows_ = 0;
};

// The output of one benchmark: its tables by name, and the machine that they were measured on.
struct MeasuredTables {
  Machine machine;
  int processes = 1;  // that measured at the same time
  std::string backend;
  std::vector<std::pair<std::string, MeasuredTable>> tables;
};

// Writes FOLDER/<table>.csv of each table, FOLDER/machine.csv (columns `key`, `value`: what `mirfak calibrate
// --machine` reads) and FOLDER/<name>.h5: a group per table with a dataset per column, the machine as attributes of
// `/`. Makes the folder. Each file appears whole or not at all. Error(input) where it cannot be written.
void write_tables(const std::filesystem::path& folder, const std::string& name, const MeasuredTables& measured);
// Fails where write_tables() would, before anything is measured.
void check_folder(const std::filesystem::path& folder);

}  // namespace mirfak::measure
