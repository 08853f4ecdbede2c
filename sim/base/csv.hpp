#pragma once

#include "base/error.hpp"
#include "base/input_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A table in a CSV file (RFC 4180): a header of column names, then rows with one field for each column; a field in
// double quotes may hold commas, line ends and doubled quotes. Empty lines, and lines that start with '#' outside of
// quotes, are skipped. Rows and columns count from 0.
class CsvTable {
 public:
  // Reads a table from a file, which may be compressed by gzip.
  // Error(input) with file:line:column for a file that cannot be read or is larger than its kind may be, bytes that are
  // not UTF-8, an open quote, text after a closing quote, a column without a name, two columns of one name, a row with
  // more or fewer fields than the header, more than 10,000 columns or 2^25 fields.
  static CsvTable from_file(const std::filesystem::path& path, const InputKind& kind = kTableFile);
  static CsvTable from_text(std::string_view text, std::string name);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& header() const { return header_; }
  std::size_t rows() const { return header_.empty() ? 0 : fields_.size() / header_.size(); }

  std::optional<std::size_t> find(std::string_view column) const;
  std::size_t require(std::string_view column) const;  // absent: Error(input) naming it and the nearest column

  const std::string& text(std::size_t row, std::size_t column) const { return field(row, column).text; }
  bool empty(std::size_t row, std::size_t column) const { return text(row, column).empty(); }
  // Fields read as numbers. Error(input) at a field that is not a number, not an integer, or out of range.
  double number(std::size_t row, std::size_t column, double minimum, double maximum) const;
  std::int64_t integer(std::size_t row, std::size_t column, std::int64_t minimum, std::int64_t maximum) const;

  Location where(std::size_t row, std::size_t column) const;
  Location header_where(std::size_t column) const;
  CsvTable only_line(int line) const;  // the table with only the row that begins on this line, or with no row
  [[noreturn]] void fail(std::size_t row, std::size_t column, std::string message, std::string hint = {}) const;

 private:
  struct Field {
    std::string text;
    int line = 0;
    int column = 0;
  };
  friend class CsvReader;

  const Field& field(std::size_t row, std::size_t column) const { return fields_[row * header_.size() + column]; }

  std::string name_;
  std::vector<std::string> header_;
  std::vector<Location> header_places_;
  std::vector<Field> fields_;  // row after row
};

// Writes `text` as one CSV field that is read back as `text`.
std::string csv_field(std::string_view text);

}  // namespace mirfak
