#include "base/csv.hpp"

#include "base/cancellation.hpp"
#include "base/characters.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMostColumns = 10'000;
constexpr std::size_t kMostFields = std::size_t{1} << 25;

}  // namespace

// Reads the text in one pass, field by field.
class CsvReader {
 public:
  CsvReader(std::string_view text, CsvTable& table) : text_(text), table_(table) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // skips a byte order mark, which spreadsheets write
  }

  void read() {
    while (next_record()) {
      if (table_.header_.empty()) {
        take_header();
      } else {
        take_row();
      }
    }
    if (table_.header_.empty()) fail_input({table_.name_, 1, 1}, "the table is empty", "expected a header of columns");
  }

 private:
  // Fills record_ with the fields of the next row; returns false at the end.
  bool next_record() {
    record_.clear();
    while (at_ < text_.size() && (text_[at_] == '#' || at_line_end())) skip_line();
    if (at_ >= text_.size()) return false;
    for (;;) {
      const bool in_quotes = at_ < text_.size() && text_[at_] == '"';
      record_.push_back(in_quotes ? quoted() : plain());
      check_size();
      steps_.step();
      if (at_ >= text_.size() || text_[at_] != ',') break;
      ++at_;
    }
    skip_line();
    return true;
  }

  void check_size() const {
    const bool wide = record_.size() > kMostColumns;
    if (!wide && table_.fields_.size() + record_.size() <= kMostFields) return;
    fail_input({table_.name_, record_.back().line, record_.back().column},
               fmt::format("a table has at most {} {}", wide ? kMostColumns : kMostFields, wide ? "columns" : "fields"),
               wide ? "leave out the columns that nobody reads" : "divide it into several");
  }

  bool at_line_end() const { return at_ >= text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    if (at_ < text_.size()) ++at_;
    ++line_;
    line_start_ = at_;
  }

  int column() const { return static_cast<int>(at_ - line_start_) + 1; }

  CsvTable::Field plain() {
    CsvTable::Field field{{}, line_, column()};
    const std::size_t begin = at_;
    while (!at_line_end() && text_[at_] != ',') ++at_;
    field.text = trimmed(text_.substr(begin, at_ - begin));
    return field;
  }

  CsvTable::Field quoted() {
    CsvTable::Field field{{}, line_, column()};
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) fail_input({table_.name_, field.line, field.column}, "this quote is never closed");
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        ++at_;
      } else if (text_[at_] == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      }
      field.text += text_[at_];
    }
    ++at_;
    if (!at_line_end() && text_[at_] != ',') {
      fail_input({table_.name_, line_, column()}, "expected a comma or the end of the line after the closing quote",
                 "double a quote that belongs to the text");
    }
    return field;
  }

  void take_header() {
    std::unordered_set<std::string> names;
    for (CsvTable::Field& field : record_) {
      const Location where{table_.name_, field.line, field.column};
      if (field.text.empty()) fail_input(where, "this column has no name");
      if (!names.insert(field.text).second)
        fail_input(where, fmt::format("two columns are named '{}'", excerpt(field.text)));
      table_.header_.push_back(std::move(field.text));
      table_.header_places_.push_back(where);
    }
  }

  void take_row() {
    if (record_.size() != table_.header_.size()) {
      const CsvTable::Field& first = record_.front();
      fail_input({table_.name_, first.line, first.column},
                 fmt::format("expected as many fields as the header has, {}, found {}", table_.header_.size(),
                             record_.size()));
    }
    std::move(record_.begin(), record_.end(), std::back_inserter(table_.fields_));
  }

  std::string_view text_;
  CsvTable& table_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
  CancellationSteps steps_;
  std::vector<CsvTable::Field> record_;
};

CsvTable CsvTable::from_text(std::string_view text, std::string name) {
  CsvTable table;
  check_characters(text, name, "expected a table in UTF-8, as spreadsheets save it under 'CSV UTF-8'");
  table.name_ = std::move(name);
  CsvReader(text, table).read();
  return table;
}

CsvTable CsvTable::from_file(const std::filesystem::path& path, const InputKind& kind) {
  return from_text(read_input_file(path, kind), path.string());
}

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  for (std::size_t i = 0; i < header_.size(); ++i) {
    if (header_[i] == column) return i;
  }
  return std::nullopt;
}

std::size_t CsvTable::require(std::string_view column) const {
  if (const auto found = find(column)) return *found;
  const std::string close = nearest(column, header_);
  fail_input({name_, 1, 1}, fmt::format("the table has no column '{}'", column),
             close.empty() ? fmt::format("it has {}", excerpt(fmt::format("{}", fmt::join(header_, ", ")), 200))
                           : fmt::format("is '{}' meant for it?", close));
}

CsvTable CsvTable::only_line(int line) const {
  CsvTable out = *this;
  out.fields_.clear();
  for (std::size_t row = 0; row < rows(); ++row) {
    if (where(row, 0).line != line) continue;
    const auto begin = fields_.begin() + static_cast<std::ptrdiff_t>(row * header_.size());
    out.fields_.assign(begin, begin + static_cast<std::ptrdiff_t>(header_.size()));
  }
  return out;
}

Location CsvTable::header_where(std::size_t column) const { return header_places_[column]; }

Location CsvTable::where(std::size_t row, std::size_t column) const {
  const Field& at = field(row, column);
  return {name_, at.line, at.column};
}

void CsvTable::fail(std::size_t row, std::size_t column, std::string message, std::string hint) const {
  fail_input(where(row, column), fmt::format("{}: {}", header_[column], message), std::move(hint));
}

double CsvTable::number(std::size_t row, std::size_t column, double minimum, double maximum) const {
  const std::string& written = text(row, column);
  double value = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  const bool whole = error == std::errc{} && end == written.data() + written.size();
  if (!whole || !std::isfinite(value))
    fail(row, column, fmt::format("expected a number, found '{}'", excerpt(written)));
  if (value < minimum || value > maximum) {
    fail(row, column, fmt::format("expected a number from {} to {}, found {}", minimum, maximum, written));
  }
  return value;
}

std::int64_t CsvTable::integer(std::size_t row, std::size_t column, std::int64_t minimum, std::int64_t maximum) const {
  const double value = number(row, column, static_cast<double>(minimum), static_cast<double>(maximum));
  if (value != std::floor(value)) fail(row, column, fmt::format("expected an integer, found {}", text(row, column)));
  return static_cast<std::int64_t>(value);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r#") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace mirfak
