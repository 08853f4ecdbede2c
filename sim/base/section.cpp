#include "base/section.hpp"

#include "base/csv.hpp"
#include "base/visible_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Cell::Value& value) {
  return std::visit(
      [](const auto& of) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(of)>, std::monostate>) {
          return nullptr;
        } else {
          return of;
        }
      },
      value);
}

std::string csv_of(const Cell::Value& value) {
  return std::visit(
      [](const auto& of) -> std::string {
        using Of = std::decay_t<decltype(of)>;
        if constexpr (std::is_same_v<Of, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<Of, std::string>) {
          return csv_field(of);
        } else {
          return fmt::format("{}", of);
        }
      },
      value);
}

// Returns the words of a cell in Markdown, where a bar would end the cell.
std::string in_markdown(const std::string& words) {
  std::string out;
  for (const char c : words) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string bar_text(double share, double width, char letter) {
  return std::string(static_cast<std::size_t>(std::lround(share * width)), letter);
}

Table::Table(std::string_view columns, int indent) : indent_(indent) {
  for (std::size_t begin = 0; begin <= columns.size();) {
    const std::size_t end = std::min(columns.find('|', begin), columns.size());
    std::string_view text = columns.substr(begin, end - begin);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    text = text.substr(0, text.find_last_not_of(' ') + 1);
    Column& column = columns_.emplace_back();
    column.right = text.starts_with('>');
    column.shown = !text.starts_with('-');
    if (column.right || !column.shown) text.remove_prefix(1);
    const std::size_t colon = std::min(text.find(':'), text.size());
    column.heading = text.substr(0, colon);
    column.key = text.substr(std::min(colon + 1, text.size()));
    begin = end + 1;
  }
}

void Table::show(std::string_view heading, bool shown) {
  for (Column& column : columns_) {
    if (column.heading == heading) column.shown = shown;
  }
}

bool Table::has_headings() const {
  return std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return !column.heading.empty(); });
}

void Table::each_shown(std::size_t most, const std::function<void(const std::vector<std::string>&)>& visit) const {
  std::vector<std::string> line;
  if (has_headings()) {
    for (const Column& column : columns_) {
      if (column.shown) line.push_back(visible_name(column.heading));
    }
    visit(line);
  }
  for (std::size_t row = 0; row < std::min(most, rows_.size()); ++row) {
    const auto& [cells, readers] = rows_[row];
    if (readers == Readers::programs) continue;
    line.clear();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (columns_[i].shown) line.push_back(visible_name(cells[i].shown));  // the name of a file may hold line ends
    }
    visit(line);
  }
}

std::string Table::text(std::size_t most) const {
  std::vector<std::size_t> widths(columns_.size());
  each_shown(most, [&](const std::vector<std::string>& line) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  });
  std::vector<bool> right;
  for (const Column& column : columns_) {
    if (column.shown) right.push_back(column.right);
  }
  std::string out;
  each_shown(most, [&](const std::vector<std::string>& cells) {
    std::string line(static_cast<std::size_t>(indent_), ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      line += right[i] ? fmt::format("{:>{}}", cells[i], widths[i]) : fmt::format("{:<{}}", cells[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  });
  return out;
}

std::string Table::markdown() const {
  std::string out;
  each_shown(rows_.size(), [&](const std::vector<std::string>& cells) {
    const bool head = out.empty();
    for (const std::string& cell : cells) out += cell.empty() ? "| " : fmt::format("| {} ", in_markdown(cell));
    out += "|\n";
    if (!head) return;
    for (std::size_t i = 0; i < cells.size(); ++i) out += "|---";
    out += "|\n";
  });
  return out;
}

Json Table::json() const {
  Json out = Json::array();
  for (const Row& row : rows_) {
    if (row.readers == Readers::people) continue;
    Json& entry = out.emplace_back(Json::object());
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!columns_[i].key.empty()) entry[columns_[i].key] = json_of(row.cells[i].value);
    }
  }
  return out;
}

std::string Table::csv() const {
  std::vector<std::string> keys;
  for (const Column& column : columns_) {
    if (!column.key.empty()) keys.push_back(column.key);
  }
  std::string out = fmt::format("{}\n", fmt::join(keys, ","));
  for (const Row& row : rows_) {
    if (row.readers == Readers::people) continue;
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!columns_[i].key.empty()) fields.push_back(csv_of(row.cells[i].value));
    }
    out += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return out;
}

std::string Section::body() const {
  std::string out;
  for (const Part& part : parts) {
    const auto* table = std::get_if<Table>(&part);
    out += table != nullptr ? table->text() : std::get<std::string>(part);
  }
  return out;
}

std::string text_of(const std::vector<Section>& sections) {
  std::string out;
  for (const Section& section : sections) out += (out.empty() ? "" : "\n") + section.title + '\n' + section.body();
  return out;
}

Json sections_json(const std::vector<Section>& sections) {
  Json out = Json::array();
  for (const Section& section : sections) {
    std::string text = section.body();
    text.erase(0, text.find_first_not_of('\n'));
    text.erase(text.find_last_not_of('\n') + 1);
    out.push_back({{"title", section.title}, {"text", text}});
  }
  return out;
}

}  // namespace mirfak
