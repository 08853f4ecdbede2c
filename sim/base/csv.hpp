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

// A table in a CSV file (RFC 4180): a header of column names, then rows of as many fields; a field in double quotes
// may hold commas, line ends and doubled quotes. Lines that start with '#' outside of quotes, and empty lines, are
// left out. Rows and columns count from 0.
class CsvTable {
 public:
  // A file may be compressed by gzip.
  // Error(input) with file:line:column for a file that cannot be read or is larger than its kind may be, bytes that are
  // no UTF-8, an open quote, text after a closing quote, a column named twice or not at all, a row with more or fewer
  // fields than the header, more than 10,000 columns or 2^25 fields.
  static CsvTable from_file(const std::filesystem::path& path, const InputKind& kind = kTableFile);
  static CsvTable from_text(std::string_view text, std::string name);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& header() const { return header_; }
  std::size_t rows() const { return header_.empty() ? 0 : fields_.size() / header_.size(); }

  std::optional<std::size_t> find(std::string_view column) const;
  std::size_t require(std::string_view column) const;  // absent: Error(input) naming it and the nearest there is

  const std::string& text(std::size_t row, std::size_t column) const { return field(row, column).text; }
  bool empty(std::size_t row, std::size_t column) const { return text(row, column).empty(); }
  // Fields that are no number, no integer or out of range: Error(input) at the field.
  double number(std::size_t row, std::size_t column, double minimum, double maximum) const;
  std::int64_t integer(std::size_t row, std::size_t column, std::int64_t minimum, std::int64_t maximum) const;

  Location where(std::size_t row, std::size_t column) const;
  Location header_where(std::size_t column) const;
  CsvTable only_line(int line) const;  // with the row that begins there alone, or with none
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

// One field as it must be written to be read back as `text`.
std::string csv_field(std::string_view text);

}  // namespace mirfak
