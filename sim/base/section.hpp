#pragma once

#include "base/units.hpp"

#include <nlohmann/json_fwd.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mirfak {

// A report as data: sections with titles, paragraphs and tables. A report is composed once. One renderer each writes it
// as text, as JSON, as CSV and as Markdown.

// A cell of a table: the words that people read, and the value that programs read. Text is both. Figures round for
// people and have all digits for programs. A value that is not known is "-" for people and null for programs.
struct Cell {
  using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

  Cell() = default;  // empty, with a value that is not known
  Cell(std::string text) : shown(text), value(std::move(text)) {}
  Cell(std::string_view text) : Cell(std::string(text)) {}
  Cell(const char* text) : Cell(std::string(text)) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Cell(T number)
      : shown(std::to_string(number)), value(static_cast<std::int64_t>(number)) {}
  template <std::same_as<bool> T>
  Cell(T truth) : shown(truth ? "yes" : "no"), value(truth) {}
  // A figure of a unit, with as many digits.
  Cell(double figure, Unit unit, int digits = kShownDigits) : shown(format(figure, unit, digits)), value(figure) {}
  Cell(const std::optional<double>& figure, Unit unit, int digits = kShownDigits) : shown("-") {
    if (figure) *this = Cell(*figure, unit, digits);
  }
  // Words for people, and another value for programs.
  template <class T>
  Cell(std::string words, T of) : shown(std::move(words)) {
    if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      value = static_cast<std::int64_t>(of);
    } else {
      value = std::move(of);
    }
  }

  std::string shown;
  Value value;
};

// Returns a cell that people alone read.
inline Cell words(std::string text) { return {std::move(text), std::monostate()}; }

// Returns a bar of `share` times `width` letters.
std::string bar_text(double share, double width, char letter = '#');

// Return cells of figures with their units: doubles, or optional ones.
template <class T>
Cell in_seconds(const T& figure, int digits = kShownDigits) {
  return {figure, Unit::seconds, digits};
}
template <class T>
Cell in_percent(const T& figure) {
  return {figure, Unit::share};
}
template <class T>
Cell as_number(const T& figure) {
  return {figure, Unit::number};
}
inline Cell in_bytes(double figure) { return {figure, Unit::bytes}; }
inline Cell in_count(double figure) { return {figure, Unit::count}; }
inline Cell in_joules(double figure) { return {figure, Unit::joules}; }
inline Cell in_kilograms(double figure) { return {figure, Unit::kilograms}; }
inline Cell in_usd(double figure) { return {figure, Unit::usd}; }
inline Cell in_watts(double figure) { return {figure, Unit::watts}; }

// Readers of a row: a sum and a heading inside a table are for people, a row too small to be shown is for programs.
enum class Readers { all, people, programs };

class Table {
 public:
  // `columns`: the columns' headings with '|' between them. '>' in front of a heading: the column is right aligned;
  // '-': programs alone read it. After ':' stands the key in JSON and CSV; without a key people alone read the column.
  // "rank:rank | >ends:end_s | >share | -:tasks". `indent`: spaces in front of each line of text.
  explicit Table(std::string_view columns, int indent = 2);
  explicit Table(int indent = 2) : indent_(indent) {}  // without columns

  void add_column(std::string heading, bool right = true) { columns_.push_back({right, true, std::move(heading), {}}); }
  void add_key(std::string key) { columns_.push_back({false, false, {}, std::move(key)}); }  // programs alone read it
  // Shows the columns with this heading, or leaves them to programs.
  void show(std::string_view heading, bool shown);

  // Adds a row, with a cell for each column; rows of words alone may be shorter.
  void add(std::vector<Cell> cells, Readers readers = Readers::all) { rows_.push_back({std::move(cells), readers}); }
  bool empty() const { return rows_.empty(); }
  std::size_t rows() const { return rows_.size(); }

  // Returns aligned columns, two spaces apart, below their headings if there are any. Lines end with '\n' and have no
  // trailing spaces. `most`: the number of rows, counted from the first one, that are shown.
  std::string text(std::size_t most = static_cast<std::size_t>(-1)) const;
  std::string markdown() const;
  nlohmann::ordered_json json() const;  // a list of objects with the columns' keys
  std::string csv() const;              // the columns' keys, then a line for each row

 private:
  struct Column {
    bool right = false;  // alignment
    bool shown = true;
    std::string heading;
    std::string key;  // "": programs do not read it
  };
  struct Row {
    std::vector<Cell> cells;
    Readers readers{};
  };
  // Calls a function with each row's words in the columns that are shown, headings first.
  void each_shown(std::size_t most, const std::function<void(const std::vector<std::string>&)>& visit) const;
  bool has_headings() const;

  std::vector<Column> columns_;
  int indent_;
  std::vector<Row> rows_;
};

struct Section {
  using Part = std::variant<std::string, Table>;  // lines of text, which end with '\n', or a table

  std::string title;
  std::vector<Part> parts;

  void add(Part part) { parts.push_back(std::move(part)); }
  std::string body() const;  // the parts as text
};

// Returns sections as text: each title on a line of its own, an empty line between sections.
std::string text_of(const std::vector<Section>& sections);

// Returns sections as pages show them: a list of `title` and `text`, without empty lines at the ends of a text.
nlohmann::ordered_json sections_json(const std::vector<Section>& sections);

}  // namespace mirfak
