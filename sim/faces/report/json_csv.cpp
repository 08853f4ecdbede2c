#include "report/json_csv.hpp"

#include "base/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace mirfak {

namespace {

using JsonRow = std::map<std::string, std::string>;  // fields by column

std::string field_of(const nlohmann::ordered_json& value) {
  if (value.is_null()) return {};
  return csv_field(value.is_string() ? value.get<std::string>() : value.dump());
}

void add_fields(const nlohmann::ordered_json& object, const std::string& prefix, std::vector<std::string>& columns,
                JsonRow& row) {
  for (const auto& [key, value] : object.items()) {
    const std::string column = prefix + key;
    if (value.is_object()) add_fields(value, column + ".", columns, row);
    if (value.is_structured()) continue;
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
    row[column] = field_of(value);
  }
}

}  // namespace

std::string csv_of_json(const nlohmann::ordered_json& rows) {
  std::vector<std::string> columns;
  std::vector<JsonRow> fields;
  if (rows.is_object()) {
    add_fields(rows, {}, columns, fields.emplace_back());
  } else {
    for (const nlohmann::ordered_json& row : rows) add_fields(row, {}, columns, fields.emplace_back());
  }
  std::vector<std::string> head;
  for (const std::string& column : columns) head.push_back(csv_field(column));
  std::string out = fmt::format("{}\n", fmt::join(head, ","));
  for (JsonRow& row : fields) {
    std::vector<std::string> line;
    for (const std::string& column : columns) line.push_back(row[column]);
    out += fmt::format("{}\n", fmt::join(line, ","));
  }
  return out;
}

}  // namespace mirfak
