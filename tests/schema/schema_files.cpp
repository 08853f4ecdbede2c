#include "schema_files.hpp"

#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace mirfak::schema {

namespace fs = std::filesystem;

std::string plain(std::string text) {
  text = std::regex_replace(text, std::regex(R"(\[([^\]]*)\]\([^)]*\))"), "$1");
  text.erase(std::remove(text.begin(), text.end(), '`'), text.end());
  return std::regex_replace(text, std::regex("^ +| +$"), "");
}

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> out;
  std::string cell;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i] == '\\' && i + 1 < row.size() && row[i + 1] == '|') {
      cell += row[++i];
    } else if (row[i] == '|') {
      out.push_back(cell);
      cell.clear();
    } else {
      cell += row[i];
    }
  }
  return out;
}

void check_file(const std::string& name, const nlohmann::ordered_json& schema) {
  const fs::path file = fs::path(source_root()) / "scenarios" / "schemas" / (name + ".schema.json");
  const std::string text = schema.dump(1) + "\n";
  if (std::getenv("MIRFAK_WRITE_PAGES") != nullptr) std::ofstream(file, std::ios::binary) << text;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream there;
  there << in.rdbuf();
  CHECK_MESSAGE(there.str() == text, file.string(), ": readers ask otherwise; MIRFAK_WRITE_PAGES=1 writes it anew");
}

}  // namespace mirfak::schema
