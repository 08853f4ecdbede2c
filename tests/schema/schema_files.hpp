#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mirfak::schema {

// The cells of a row of a table in Markdown.
std::vector<std::string> cells_of(const std::string& row);
// Removes the marks of Markdown, and blanks at both ends.
std::string plain(std::string text);
// The schema stands in scenarios/schemas/; with MIRFAK_WRITE_PAGES=1 it is written.
void check_file(const std::string& name, const nlohmann::ordered_json& schema);

}  // namespace mirfak::schema
