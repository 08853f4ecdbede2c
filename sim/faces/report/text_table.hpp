#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Rows of cells in aligned columns, two spaces apart.
class TextTable {
 public:
  // One letter per column: 'l' left, 'r' right aligned. Rows may be shorter.
  explicit TextTable(std::string_view alignment, int indent = 2) : alignment_(alignment), indent_(indent) {}

  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;  // lines end with '\n', without trailing spaces

 private:
  std::string alignment_;
  int indent_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace mirfak
