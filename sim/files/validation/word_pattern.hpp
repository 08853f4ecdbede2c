#pragma once

#include "base/document.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// The values of the names in the braces of a pattern, in the order of the pattern.
using Captures = std::vector<std::pair<std::string, std::string>>;

// A word as people write it in a cell of a table, compared without regard to case (ASCII): "8x HDR200 IB per node". In
// a pattern `{ports}` stands for a number (digits, with a fraction or without), `{name:text}` for any text that is not
// empty, and `*` for any text at all.
class WordPattern {
 public:
  // Error(input) at the wrong character: a brace that is not closed, a malformed name, a name used twice.
  static WordPattern parse(const Node& node);

  // Matches the whole of `word`; if there are several ways, each name takes as much as it can, the first before the
  // second.
  std::optional<Captures> match(std::string_view word) const;

  const std::string& text() const { return text_; }  // as written
  const Location& where() const { return where_; }
  bool is_plain() const;  // matches only its own text
  std::vector<std::string> names() const;

 private:
  struct Part {
    enum class Kind { literal, number, text };
    Kind kind = Kind::literal;
    std::string text;  // a literal in lower case, or a name ("" for `*`)
  };
  bool match_from(std::size_t part, std::string_view word, std::size_t at, Captures& out) const;

  std::string text_;
  Location where_;
  std::vector<Part> parts_;
};

}  // namespace mirfak
